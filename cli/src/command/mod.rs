//! The commands, a file a subject. The doc comment of a command's arguments is its help.

mod annotate;
mod change;
mod check;
mod cite;
mod compare;
mod dataset;
mod fixity;
mod granule_id;
mod granules;
mod history;
mod import;
mod key;
mod listings;
mod mirror;
mod payment_id;
mod publish;
mod shell;
mod sign;
mod status;
mod store;
mod verify;

commands! {
    enum Command {
        #[command(subcommand)]
        Dataset(dataset::Command),
        Ingest(change::Ingest),
        Delete(change::Delete),
        Sync(change::Sync),
        Revert(change::Revert),
        Import(import::ImportArgs),
        Annotate(annotate::Args),
        History(history::ListHistory),
        Lookup(history::Lookup),
        Granules(granules::Args),
        Find(history::Find),
        Resolve(history::Resolve),
        Identify(compare::Identify),
        Compare(compare::Compare),
        Cite(cite::Args),
        Subsets(history::Subsets),
        Check(check::Args),
        Status(status::Args),
        #[command(subcommand)]
        Fixity(fixity::Command),
        Verify(verify::Args),
        #[command(subcommand)]
        Key(key::Command),
        Sign(sign::Sign),
        Prove(sign::Prove),
        Backup(store::Backup),
        Copy(store::Copy),
        Distribute(store::Distribute),
        Restore(store::Restore),
        Export(import::ExportArgs),
        Publish(publish::Publish),
        #[command(subcommand)]
        Mirror(mirror::Command),
        #[command(subcommand)]
        GranuleId(granule_id::Command),
        #[command(subcommand)]
        PaymentId(payment_id::Command),
        Serve(publish::Serve),
        Completions(shell::Completions),
        Man(shell::Man),
    }
}
