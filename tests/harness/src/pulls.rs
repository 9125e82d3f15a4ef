//! Pulls of mirrors that follow their primary, and of mirrors that do not.

use accession::mirror::{Primary, PullOptions, PullReport};
use accession::{DatasetName, ErrorKind, Expected, Registry, Result};

/// Which mirrors a pull changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// Mirrors that follow the primary.
    Follow,
    /// Any mirror. If it does not follow the primary, the pull expects the set in the report of a dry run.
    Reset,
}

pub const FOLLOW: PullPolicy = PullPolicy::Follow;
pub const RESET: PullPolicy = PullPolicy::Reset;

impl PullPolicy {
    pub fn pull(
        self,
        registry: &Registry,
        mirror: &DatasetName,
        primary: &Primary,
        options: PullOptions,
    ) -> Result<PullReport> {
        if self == PullPolicy::Follow {
            return registry.pull(mirror, primary, options);
        }
        loop {
            let expect = registry.pull(mirror, primary, options.dry_run(true))?.expect;
            // Expecting a digest would also accept checksums that contradict the recorded ones.
            let expect = expect.filter(|it| matches!(it, Expected::Identifier(_)));
            match registry.pull(mirror, primary, options.expect(expect)) {
                // The primary has published another set in the meantime.
                Err(error) if error.kind() == ErrorKind::NotAsExpected => {}
                pulled => return pulled,
            }
        }
    }
}
