//! The names of sets: which identifiers and digests instances and subsets have.

use crate::model::{Digest, Identifier, IdentifierPrefix};
use crate::store::Result;
use crate::store::session::View;
use crate::store::statement::{Sql, Value};

impl View {
    /// The identifiers of instances and of subsets that begin with some digits, in order, at most
    /// `limit` of them. Asks every machine: an identifier does not say to which dataset it belongs.
    pub fn identifiers_beginning(
        &self,
        prefix: &IdentifierPrefix,
        limit: u32,
    ) -> Result<Vec<Identifier>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT identifier
            FROM {instance}
            WHERE identifier >= ?1 AND identifier <= ?2 AND (dataset_id IN rarray(?4) OR -1 IN rarray(?4))
            UNION
            SELECT identifier
            FROM {saved_selection}
            WHERE identifier >= ?1 AND identifier <= ?2 AND (dataset_id IN rarray(?4) OR -1 IN rarray(?4))
            ORDER BY identifier
            LIMIT ?3",
        );
        let (first, last) = prefix.range();
        let values = [first.into(), last.into(), limit.into(), self.shown()];
        self.rows(&BETWEEN, &values, |row| row.get(0))
    }

    /// The digests of instances and of subsets from one to another, in order, at most `limit` of them. Asks
    /// every machine.
    pub fn digests_between(
        &self,
        (first, last): (Digest, Digest),
        limit: u32,
    ) -> Result<Vec<Digest>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT digest
            FROM {instance}
            WHERE digest >= ?1 AND digest <= ?2 AND (dataset_id IN rarray(?4) OR -1 IN rarray(?4))
            UNION
            SELECT digest
            FROM {saved_selection}
            WHERE digest >= ?1 AND digest <= ?2 AND (dataset_id IN rarray(?4) OR -1 IN rarray(?4))
            ORDER BY digest
            LIMIT ?3",
        );
        let values = [(&first).into(), (&last).into(), limit.into(), self.shown()];
        self.rows(&BETWEEN, &values, |row| row.get(0))
    }

    /// Those of some identifiers that an instance or a subset has, in order. Asks every machine.
    pub fn identifiers_among(&self, identifiers: &[Identifier]) -> Result<Vec<Identifier>> {
        static AMONG: Sql = Sql::new(
            "SELECT identifier
            FROM {instance}
            WHERE identifier IN rarray(?1) AND (dataset_id IN rarray(?2) OR -1 IN rarray(?2))
            UNION
            SELECT identifier
            FROM {saved_selection}
            WHERE identifier IN rarray(?1) AND (dataset_id IN rarray(?2) OR -1 IN rarray(?2))
            ORDER BY identifier",
        );
        let values = [Value::Identifiers(identifiers), self.shown()];
        self.rows(&AMONG, &values, |row| row.get(0))
    }
}
