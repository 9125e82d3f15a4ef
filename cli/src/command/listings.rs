//! Dated listings. `import` syncs a dataset by each, at its date.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use accession::ListingOptions;
use accession::Selection;
use accession::history::ChangeExamples;
use accession::listing::Findings;
use accession::text::{plural, quoted};
use accession::{
    ChangeOptions, ChangeReport, Clock, DatasetName, ErrorKind, Expected, Instance, Limits,
    Listing, ListingBuilder, Moment, Registry, Timestamp,
};
use accession::{Warning, WarningKind};

use super::dated_files::{Dated, Undated, date, dated_of, paths_in, paths_of};
use super::dates_in_names::times_of;
use crate::args::FormatArgs;
use crate::error::{Context, Error, Result};
use crate::input_file::InputFile;
use crate::listing_guard::ListingGuard;
use crate::output::Progress;
use crate::paths::PathArgs;
use crate::reading::{Entries, MissingPages, Recording};
use crate::session::{Create, Session};

/// The options of `import` that dated listings have.
#[derive(clap::Args)]
pub struct DatedArgs {
    /// Why the changes were made
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Leave out this dated listing (repeatable)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    skip: Vec<PathBuf>,

    #[command(flatten)]
    paths: PathArgs,
}

/// Dated listings, and the options for importing them.
pub struct Listings<'a> {
    pub dataset: &'a DatasetName,
    pub arguments: &'a DatedArgs,
    pub format: &'a FormatArgs,
    pub options: ListingOptions,
    pub change: ChangeOptions,
    /// The expected set. A listing that leads to it is accepted even if a guard refuses it. `None` means that
    /// no set is expected.
    expect: Option<Expected>,
    dated: Vec<Dated>,
}

/// The result of importing the listings.
#[derive(Default)]
pub struct Taken {
    /// The totals of all their changes.
    pub applied: ChangeReport,
    /// Warnings, each with the number of listings that had one of its kind. Sets whose granules were back in
    /// the next listing each have their own warning.
    warnings: Vec<(Warning, u64)>,
    /// The number of listings that were already in the history.
    pub known: u64,
    /// The number of listings that changed nothing.
    pub unchanged: u64,
    /// What was read for the first change of the dataset, or for all listings of a trial. Also how contents
    /// were compared.
    pub findings: Findings,
    /// Whether the listings are only tried.
    is_trial: bool,
    /// Whether a listing led to the expected set.
    meets_expectation: bool,
    /// The reason that a listing was refused. The later listings were not read. `None` means that all were
    /// accepted.
    pub stopped: Option<Error>,
}

impl DatedArgs {
    /// Rejects options of dated listings for a history.
    ///
    /// # Errors
    ///
    /// Such an option is given.
    pub fn refuse_for_history(&self) -> Result<()> {
        let given = [
            (self.note.is_some(), "--note"),
            (!self.skip.is_empty(), "--skip"),
            (self.paths.changes_ids(), "--granule, --strip-prefix or --strip-suffix"),
        ];
        match given.into_iter().find(|(is_given, _)| *is_given) {
            None => Ok(()),
            Some((_, option)) => {
                Err(Error::usage(format!("a history is imported unchanged, without {option}"))
                    .with_hint(
                        "omit the option; it is for listings with their dates in their names",
                    ))
            }
        }
    }

    /// The dated listings in a directory, or the named ones, without the skipped ones.
    ///
    /// # Errors
    ///
    /// There is no listing; a name has no date, or several; two listings have the same date; a listing is in
    /// the future; or a skipped listing does not exist.
    pub fn of<'a>(
        &'a self,
        files: &[InputFile],
        dataset: &'a DatasetName,
        (format, options): (&'a FormatArgs, ListingOptions),
        (change, expect): (ChangeOptions, Option<Expected>),
        now: Timestamp,
    ) -> Result<Listings<'a>> {
        let mut dated = match files {
            [InputFile::Path(directory)]
                if directory.is_dir() && times_of(directory).is_ok_and(|it| it.is_empty()) =>
            {
                dated_of(paths_in(directory)?, Undated::Skipped)?
            }
            files => dated_of(paths_of(files)?, Undated::Refused)?,
        };
        for skipped in &self.skip {
            let before = dated.len();
            dated.retain(|listing| !listing.is_at(skipped));
            if dated.len() == before {
                let shown = skipped.to_string_lossy().into_owned();
                let message = format!("{} is none of the listings", quoted(&shown));
                return Err(
                    Error::usage(message).with_hint("name the file of a listing with --skip")
                );
            }
        }
        match dated.last() {
            None => {
                let names: Vec<String> = files.iter().map(InputFile::name).collect();
                let message = format!("{} has no listings", quoted(&names.join(" ")));
                Err(Error::usage(message).with_hint(
                    "name the directory of one published dataset, or a directory with a listing for each date",
                ))
            }
            Some(Dated { at, file }) if *at > now => {
                let (file, at) = (file.name(), date(*at));
                let message =
                    format!("{} of {at} is in the future: now it is {now}", quoted(&file));
                Err(Error::new(ErrorKind::Future, message)
                    .with_hint("nothing was changed; correct the date in its name"))
            }
            Some(_) => {
                let change = change.note(self.note.clone()).limits(Limits::default());
                Ok(Listings { dataset, arguments: self, format, options, change, expect, dated })
            }
        }
    }
}

impl Listings<'_> {
    /// Syncs the dataset by each listing, one change after the other. Stops at the first listing that is
    /// refused by a guard or is not after the last change. A listing of an earlier time is accepted if it is
    /// what the dataset held then.
    ///
    /// # Errors
    ///
    /// A listing is refused or cannot be read, or the registry cannot be written. If earlier listings were
    /// accepted, their changes are kept, and the error is in [`Taken::stopped`].
    pub fn take(&self, session: &Session) -> Result<Taken> {
        session.write(Create::when(self.change.creates_dataset()), None, |registry, session| {
            self.sync_each(registry, session, Taken::default())
        })
    }

    /// Does the same as [`Listings::take`] in a temporary copy of the registry.
    ///
    /// # Errors
    ///
    /// Those of [`Listings::take`], or the copy cannot be written.
    pub fn try_out(&self, session: &Session) -> Result<Taken> {
        // Commits to the copy do not count as commits: nothing was changed.
        let unnoted = || Arc::new(Progress::new());
        let copy = match session.new_registry(Create::when(self.change.creates_dataset()))? {
            Some(_) => Registry::temporary(Clock::system())?,
            None => session.open()?.observed_by(unnoted()).temporary_copy()?,
        };
        let copy = session.recording(&copy, None)?;
        let copy = copy.observed_by(unnoted());
        self.sync_each(&copy, session, Taken { is_trial: true, ..Taken::default() })
    }

    fn sync_each(&self, registry: &Registry, session: &Session, mut taken: Taken) -> Result<Taken> {
        taken.applied.in_force = registry.snapshot()?.latest_change(self.dataset)?;
        for dated in &self.dated {
            let last = taken.applied.in_force.as_ref().map(|latest| latest.timestamp);
            let file = || format!("{} of {}", quoted(&dated.file.name()), date(dated.at));
            let synced = self.sync(dated, last, registry, session, &mut taken);
            if let Err(error) = synced.with_context(file) {
                taken.stopped = Some(self.with_ways_on(error, dated, session));
                break;
            }
        }
        if let (Some(expect), None, false) = (self.expect, &taken.stopped, taken.meets_expectation)
        {
            let message = format!("none of the listings leads to {expect}, which is expected");
            taken.stopped = Some(Error::new(ErrorKind::NotAsExpected, message));
        }
        if taken.known > 0 && taken.stopped.is_none() {
            registry.forget_refused_listing(self.dataset)?;
        }
        match taken.stopped {
            Some(error) if taken.applied.instances.is_empty() => Err(error),
            _ => Ok(taken),
        }
    }

    fn sync(
        &self,
        dated: &Dated,
        last: Option<Timestamp>,
        registry: &Registry,
        session: &Session,
        taken: &mut Taken,
    ) -> Result<()> {
        let Listings { dataset, change, .. } = self;
        let guard = ListingGuard::default();
        let listing = self.listing(dated, session, &guard, taken);
        if last.is_some_and(|last| dated.at <= last) {
            let held = self.check_held(dated, &listing?, registry)?;
            taken.meets_expectation |= self.is_expected(&held);
            taken.known += 1;
            return Ok(());
        }
        let listing = listing.inspect_err(|error| {
            if error.rejects_listing() {
                // If this fails, the original error is still reported.
                let _ = registry.note_refused_listing(dataset, &error.to_string());
            }
        })?;
        let change = guard.guarding(change.clone().at(dated.at));
        let synced = registry.sync(dataset, &listing, &change);
        let applied = match synced {
            // The expected set belongs to the first listing that a guard refuses.
            Err(refusal) if refusal.expect().is_some() && !taken.meets_expectation => {
                let Some(expect) = self.expect else { return Err(refusal.into()) };
                registry.sync(dataset, &listing, &change.expect(expect))?
            }
            synced => synced?,
        };
        taken.meets_expectation |=
            applied.in_force.as_ref().is_some_and(|held| self.is_expected(held));
        let warnings = applied.warnings(dataset, session.now()?);
        let came_back = warnings.into_iter().filter(|it| it.kind == WarningKind::CameBack);
        taken.warnings.extend(came_back.map(|warning| (warning, 1)));
        taken.unchanged += u64::from(applied.instances.is_empty());
        taken.add(applied, self.change.wants_all_examples());
        Ok(())
    }

    fn is_expected(&self, held: &Instance) -> bool {
        self.expect.is_some_and(|expect| expect.is(held.identifier, held.digest))
    }

    fn listing(
        &self,
        dated: &Dated,
        session: &Session,
        guard: &ListingGuard,
        taken: &mut Taken,
    ) -> Result<Listing> {
        let (files, paths) = (std::slice::from_ref(&dated.file), &self.arguments.paths);
        let options = self.options.clone();
        let (mut builder, warnings) = (ListingBuilder::new(), RefCell::default());
        let missing = MissingPages::Guard(guard);
        let entries = Entries::new(session, &[], files, options, paths, missing);
        let entries = entries.recorded().keeping(&warnings);
        let read = entries.read(|entry| Ok(builder.add(entry)?))?;
        let listing = builder.finish();
        let recording = Recording { session, dataset: self.dataset };
        let findings = read.accepted_for(recording, || listing.refuse_directories())?;
        taken.findings.add_contents(&findings);
        if taken.is_trial || taken.applied.in_force.is_none() {
            findings.read().iter().for_each(|read| taken.findings.add_read(read.clone()));
        }
        for warning in warnings.into_inner() {
            match taken.warnings.iter_mut().find(|(known, _)| known.kind == warning.kind) {
                Some((_, listings)) => *listings += 1,
                None => taken.warnings.push((warning, 1)),
            }
        }
        self.format.refuse_repeating(paths, &listing)?;
        Ok(listing)
    }

    /// Rejects a listing that is not after the last change, because it cannot be added in the past, even if its
    /// set is expected. If the dataset held its granules at its time, returns that instance instead.
    fn check_held(
        &self,
        dated: &Dated,
        listing: &Listing,
        registry: &Registry,
    ) -> Result<Instance> {
        let at = Some(Moment::Instant(dated.at));
        let then = Selection::Dataset { name: self.dataset.clone(), at };
        let snapshot = registry.snapshot()?;
        let what = match snapshot.select(&then) {
            Err(error) if error.kind() == ErrorKind::NoHistory => "no set",
            Err(error) => return Err(error.into()),
            Ok(selected) => {
                drop(snapshot);
                let counts = registry.compare_with(&selected.set, listing)?.finish()?;
                match (counts.has_same_granules(), counts.contents.other) {
                    (true, 0) => return Ok(selected.set.instance().clone()),
                    (true, _) => "different content",
                    (false, _) => "another set",
                }
            }
        };
        Err(Error::new(
            ErrorKind::NotAfterLast,
            format!(
                "the history has {what} for that time and later changes, and is never rewritten"
            ),
        ))
    }

    /// Adds to an error the two commands to continue: without the refused listing or, if a guard refused it,
    /// with it. After a loss that lasts, every later listing is refused until one is recorded.
    fn with_ways_on(&self, error: Error, dated: &Dated, session: &Session) -> Error {
        // Errors of these kinds are not about this listing.
        let is_of_all = [
            ErrorKind::Interrupted,
            ErrorKind::DatasetUnknown,
            ErrorKind::SimilarName,
            ErrorKind::Withdrawn,
        ];
        if is_of_all.iter().any(|kind| error.kind() == *kind) {
            return error;
        }
        let without = session.again(&[("--skip", &dated.file.name())]);
        let Some((refusal, expect)) = error.refusal() else {
            return error.with_continuation(format!("`{without}` continues without it"));
        };
        let with = session.again(&[("--expect", &expect.to_string())]);
        let hint = if refusal.kind() == ErrorKind::Input {
            // Wrong reading options cannot be accepted with `--expect`.
            let own = refusal.hint().map_or(String::new(), |hint| format!("{hint}; "));
            format!("{own}`{without}` continues without it")
        } else if refusal.kind() == ErrorKind::ClockAhead {
            format!(
                "correct the clock; if it is right, `{with}` records this listing and continues"
            )
        } else if self.arguments.skip.is_empty() {
            format!(
                "if this listing is right, `{with}` records it and continues; if it alone is wrong, `{without}` continues without it"
            )
        } else {
            format!(
                "if this listing is right, as after a loss that lasts, `{with}` records it and continues; if it is wrong, too, `{without}` continues without it"
            )
        };
        error.with_continuation(hint)
    }

    /// The numbers of listings that became changes and of the others, in words.
    pub fn summary(&self, taken: &Taken) -> String {
        let listings = plural(self.dated.len() as u64, "listing");
        let changes = plural(taken.applied.instances.len() as u64, "change");
        let others = [
            (taken.unchanged, "without a change"),
            (taken.known, "already in the history"),
            (self.arguments.skip.len() as u64, "skipped"),
        ];
        let others = others.into_iter().filter(|(number, _)| *number > 0);
        others.fold(format!("{listings}: {changes}"), |summary, (number, what)| {
            format!("{summary}, {number} {what}")
        })
    }
}

impl Taken {
    /// The warnings about accepted listings.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.warnings.iter().map(|(warning, listings)| {
            let mut warning = warning.clone();
            if *listings > 1 {
                let listings = plural(*listings, "listing");
                warning.message.push_str(&format!("; {listings} have such a warning"));
            }
            warning
        })
    }

    /// Adds the changes of one more listing.
    fn add(&mut self, next: ChangeReport, all_examples: bool) {
        let all = &mut self.applied;
        if all.instances.is_empty() {
            all.last = next.last;
        }
        if let (Some(before), Some(first)) = (all.instances.last_mut(), next.instances.first()) {
            before.until = Some(first.timestamp);
        }
        all.instances.extend(next.instances);
        all.in_force = next.in_force;
        all.created_dataset |= next.created_dataset;
        all.overruled = all.overruled.take().or(next.overruled);
        all.skipped.repeated += next.skipped.repeated;
        all.effort += next.effort;
        for (examples, more) in [
            (&mut all.first.ingested, next.first.ingested),
            (&mut all.first.deleted, next.first.deleted),
            (&mut all.first.described, next.first.described),
            (&mut all.first.replaced, next.first.replaced),
        ] {
            examples.extend(more);
            if !all_examples {
                examples.truncate(ChangeExamples::MAX);
            }
        }
    }
}
