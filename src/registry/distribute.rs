//! A registry that is spread over several machines.

use super::error::Result;
use super::handle::Registry;

impl Registry {
    /// Spreads the registry over the machines of a Citus cluster, by dataset, in one transaction.
    /// It can be new or filled, and is used afterwards as before. Returns how many tables were
    /// distributed; 0 means that they had been before.
    ///
    /// Cost: every row is sent to its machine. Others wait meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](super::Error::Store) of kind `not-a-server`: the registry is a file; of kind
    /// `no-citus`: the extension is not installed; of kind `denied`: the role is not the owner of
    /// the tables.
    pub fn distribute(&self) -> Result<u64> {
        self.store().distribute().map_err(|error| self.named(error.into()))
    }
}
