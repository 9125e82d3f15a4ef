//! The commands, one file per subject. The doc comment of a command's arguments is its help.

mod annotate;
mod change;
mod check;
mod cite;
mod compare;
mod correct;
mod dataset;
mod dated_files;
mod dates_in_names;
mod export;
mod facts;
mod fixity;
mod granules;
mod history;
mod ids;
mod import;
mod listings;
mod mirror;
mod proof;
mod publish;
mod registry;
mod shell;
mod show;
mod status;
mod verify;

commands! {
    enum Command {
        Sync(change::Sync),
        Ingest(change::Ingest),
        Delete(change::Delete),
        Revert(change::Revert),
        Import(import::ImportArgs),
        Annotate(annotate::Args),
        Status(status::Args),
        Show(show::Args),
        Granules(granules::Args),
        History(history::ListHistory),
        Find(history::Find),
        Compare(compare::Compare),
        Cite(cite::Args),
        Check(check::Args),
        #[command(subcommand)]
        Dataset(dataset::Command),
        #[command(subcommand)]
        Fixity(fixity::Command),
        #[command(subcommand)]
        Mirror(mirror::Command),
        Publish(publish::Publish),
        Serve(publish::Serve),
        Verify(verify::Args),
        #[command(subcommand)]
        Proof(proof::Command),
        #[command(subcommand)]
        Registry(registry::Command),
        #[command(subcommand)]
        Ids(ids::Command),
        #[command(hide = true)]
        Completions(shell::Completions),
        #[command(hide = true)]
        Man(shell::Man),
    }
}
