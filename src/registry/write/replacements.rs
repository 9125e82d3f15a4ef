//! The guard of what is known of files: a change that states other bytes of more granules than it may is
//! refused, with the first of them. Of a granule that comes back after its deletion, it is compared with what
//! was known last. An import, a revert and the log of a primary state what has happened, and are not guarded.

use super::tally::MAX_EXAMPLES;
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Contradiction, Event, GranuleId, Limits, count};

/// The granules of which other bytes are stated than are known.
#[derive(Debug, Default)]
pub(super) struct Replacements {
    count: u64,
    /// Of how many granules something was known and something is stated.
    pub compared: u64,
    /// The first of them, in words.
    named: Vec<String>,
    first: Option<GranuleId>,
}

impl Replacements {
    /// Counts a granule of which an event states other bytes.
    pub fn add(&mut self, event: &Event, contradiction: &Contradiction) {
        self.count += 1;
        if self.named.len() < MAX_EXAMPLES {
            let location = event.location.as_ref();
            let place = location.map_or(String::new(), |location| format!("{location}: "));
            self.named.push(format!("{place}{}", contradiction.of(&event.granule_id)));
        }
        self.first.get_or_insert_with(|| event.granule_id.clone());
    }

    /// Refuses them if they are more than the limits allow.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ContentContradicts`], naming the first of them.
    pub fn check(&self, target: &Target<'_>) -> Result<()> {
        let limits = Limits { max_replace: target.options.max_replace, ..Limits::default() };
        let most = limits.or(target.limits).replacements(target.held());
        let Some(granule_id) = self.first.as_ref().filter(|_| self.count > most) else {
            return Ok(());
        };
        let granules = count(self.count, "granule");
        let question = match self.count == self.compared && self.count > 1 {
            true => "; everything contradicts: is it another algorithm?",
            false => "",
        };
        let more = match self.count - self.named.len() as u64 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!(
            "{granules} of {} would get other bytes than are known, and at most {most} may be replaced: \
             {}{more}{question}",
            target.name,
            self.named.join("; ")
        );
        Err(Error::new(ErrorKind::ContentContradicts, message).of(granule_id.clone()))
    }
}
