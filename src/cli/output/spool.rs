//! Lists of ids that are printed after values that are known only at their end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};

use accession::GranuleId;
use accession::disk::{self, scratch};

/// The number of ids that are kept in memory; further ids are written to a temporary file.
const MAX_IN_MEMORY: usize = 10_000;

/// Ids to be printed, which are kept in memory while there are few. An id contains no line end, so the
/// file has one per line.
#[derive(Default)]
pub struct Spool {
    ids: Vec<GranuleId>,
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Spool {
    /// Adds an id.
    ///
    /// # Errors
    ///
    /// The temporary file cannot be written.
    pub fn add(&mut self, granule_id: GranuleId) -> Result<(), disk::Error> {
        self.count += 1;
        if self.file.is_none() && self.ids.len() < MAX_IN_MEMORY {
            self.ids.push(granule_id);
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(scratch::file()?)),
        };
        writeln!(file, "{}", granule_id.as_str()).map_err(|error| scratch::unusable("write", error))
    }

    /// The number of ids.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Passes each id to `show`, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// The error of `show`; the temporary file cannot be read.
    pub fn each<E: From<io::Error> + From<disk::Error>>(
        self,
        mut show: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.ids.iter().try_for_each(|granule_id| show(granule_id.as_str()))?;
        let Some(file) = self.file else { return Ok(()) };
        let failed = |error| E::from(scratch::unusable("read", error));
        let mut file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        for line in BufReader::new(file).lines() {
            show(&line.map_err(failed)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_passed_in_order_whatever_their_number() {
        for count in [0, 1, MAX_IN_MEMORY, MAX_IN_MEMORY + 1, 3 * MAX_IN_MEMORY] {
            let ids: Vec<String> = (0..count).map(|number| format!("id {number} ")).collect();
            let mut spool = Spool::default();
            for id in &ids {
                spool.add(id.parse().unwrap()).unwrap();
            }
            assert_eq!(spool.count(), count as u64);
            let mut shown = Vec::new();
            let show = |id: &str| {
                shown.push(id.to_owned());
                Ok::<_, anyhow::Error>(())
            };
            spool.each(show).unwrap();
            assert_eq!(shown, ids);
        }
    }
}
