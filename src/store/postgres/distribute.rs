//! Spreads the tables over the machines of a Citus cluster.

use super::placement;
use super::session::Store;
use super::settings;
use crate::store::{Error, ErrorKind, Result};

impl Store {
    /// Distributes every table that is not distributed, in one transaction: the rows of one dataset
    /// are on one machine. Returns how many tables were distributed. Nobody can use the registry
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoCitus`]: the extension is not in the database. [`ErrorKind::Busy`]: others are using
    /// the registry. [`ErrorKind::Denied`]: the role is not the owner of the tables.
    pub(super) fn distribute_tables(&self) -> Result<u64> {
        const ALONE: &str = "LOCK TABLE accession.registry IN ACCESS EXCLUSIVE MODE";
        // If this function fails, the connection is dropped, which rolls back.
        let connection = self.connection()?;
        let begin =
            settings::writing(self.busy_wait, &self.synchronous_commit, placement::SETTINGS);
        connection.begin(&begin)?;
        if !placement::has_citus(&connection)? {
            let message = "the extension citus is not installed in the database";
            return Err(Error::stored(ErrorKind::NoCitus, message));
        }
        connection.run(ALONE)?;
        let distributed = placement::complete(&connection)?;
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(distributed)
    }
}
