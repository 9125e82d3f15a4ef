//! Whether the checkpoints are those of the granules now held.

use std::collections::VecDeque;

use super::{Code, Findings};
use crate::model::{Checkpoint, GranuleId, Identifier, quoted};

/// The checkpoints of a dataset, compared one by one in canonical order.
pub(super) struct Checkpoints {
    stored: VecDeque<Checkpoint>,
    last_agreeing: Option<GranuleId>,
    findings: Findings,
}

impl Checkpoints {
    pub fn of(stored: Vec<Checkpoint>) -> Self {
        Checkpoints { stored: stored.into(), last_agreeing: None, findings: Findings::default() }
    }

    /// Compares with the chain after the next granule behind which a checkpoint must stand.
    pub fn compare(&mut self, granule_id: &str, chain: Identifier) {
        while self.stored.front().is_some_and(|next| next.granule_id.as_str() < granule_id) {
            self.refuse_next();
        }
        let next = self.stored.pop_front_if(|next| next.granule_id.as_str() == granule_id);
        let Some(checkpoint) = next else {
            let problem = "the checkpoint after this granule is missing".to_owned();
            return self.findings.add(Code::Checkpoint, None, Some(granule_id), problem);
        };
        if checkpoint.chain == chain {
            self.last_agreeing = Some(checkpoint.granule_id);
            return;
        }
        let since = match &self.last_agreeing {
            Some(last) => format!("; the one after {} agrees", quoted(last.as_str())),
            None => String::new(),
        };
        let problem = format!(
            "the checkpoint after this granule is {}, its granules give {chain}{since}",
            checkpoint.chain,
        );
        self.findings.add(Code::Checkpoint, None, Some(granule_id), problem);
    }

    /// What was found, after the last granule.
    pub fn finish(mut self) -> Findings {
        while !self.stored.is_empty() {
            self.refuse_next();
        }
        self.findings
    }

    fn refuse_next(&mut self) {
        if let Some(checkpoint) = self.stored.pop_front() {
            let granule = Some(checkpoint.granule_id.as_str());
            let problem = "a checkpoint stands after this granule, where none should".to_owned();
            self.findings.add(Code::Checkpoint, None, granule, problem);
        }
    }
}
