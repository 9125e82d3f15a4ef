//! Datasets: their records, their names, and whether they accept changes.

mod edit;
mod show;

commands! {
    /// Add datasets, and show and change their metadata
    enum Command {
        Add(edit::AddDataset),
        Edit(edit::EditDataset),
        List(show::ListDatasets),
        Show(show::Show),
        Rename(edit::Rename),
        Withdraw(edit::Withdraw),
        Reinstate(edit::Reinstate),
    }
}
