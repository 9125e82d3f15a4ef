//! `ids`: makes and explains ids of granules and payments.

mod explain;
mod granule;
mod payment;

commands! {
    /// Make NASA Cumulus granule ids, and payment ids
    enum Command {
        Granule(granule::MakeGranuleIds),
        Payment(payment::IssuePaymentIds),
        Explain(explain::Explain),
    }
}
