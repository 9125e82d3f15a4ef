//! Warnings for people who read or change a dataset. Each is worded once, for every program that shows it.

use super::snapshot::CitationFacts;
use super::write::{ChangeReport, ReturnedGranules, Skipped, SubsetCitation};
use crate::model::{
    Confirmation, DatasetName, DatasetRecord, Instance, Moment, Timestamp, Warning, WarningKind,
    Withdrawal, plural,
};

/// More identifiers of a day than this are counted, and not named.
const MOST_NAMED: usize = 5;

impl ChangeReport {
    /// Warnings about a change. `asked` is the name that the caller used for the dataset.
    pub fn warnings(&self, asked: &DatasetName, now: Timestamp) -> Vec<Warning> {
        let behind = self.clock_behind_micros.map(|micros| {
            let seconds = micros / 1_000_000;
            let message = format!(
                "the clock is {seconds} s behind the last change, so this change is stamped a microsecond after it"
            );
            Warning::new(WarningKind::ClockBehind, message)
        });
        let mut warnings = Vec::from_iter(behind);
        warnings.extend(self.skipped.warning());
        warnings.extend(self.warnings_of_dataset(asked, now));
        warnings.extend(self.came_back.as_ref().map(ReturnedGranules::warning));
        warnings
    }

    /// Warnings about an import. `asked` is the name that the caller used for the dataset.
    pub fn import_warnings(&self, asked: &DatasetName, now: Timestamp) -> Vec<Warning> {
        let message = format!(
            "left out {} of a day that is not over: import the file again when it is",
            plural(self.left_out, "event")
        );
        let left_out = Warning::new(WarningKind::DayNotOver, message);
        let mut warnings = Vec::from_iter(Some(left_out).filter(|_| self.left_out > 0));
        warnings.extend(self.warning_of_annotations());
        warnings.extend(self.warnings_of_dataset(asked, now));
        warnings
    }

    /// Warns that some annotations of the primary were left out.
    pub(crate) fn warning_of_annotations(&self) -> Option<Warning> {
        let number = self.annotations_left_out;
        let left_out = plural(number, "annotation");
        let message = format!(
            "{left_out} of the primary left out: the notes of one instance have at most 64 KiB together"
        );
        (number > 0).then(|| Warning::new(WarningKind::AnnotationsLeftOut, message))
    }

    /// Warns that the dataset was named by a former name, and that a change is back-dated. Also warns that its
    /// last change is in the future, unless the clock is known to be wrong.
    fn warnings_of_dataset(&self, asked: &DatasetName, now: Timestamp) -> Vec<Warning> {
        let in_force = self.in_force.as_ref();
        let former = in_force.and_then(|it| Warning::of_former_name(asked, &it.dataset));
        let future = in_force.and_then(|in_force| Warning::of_future(in_force, now));
        let future = future.filter(|_| self.clock_behind_micros.is_none());
        let first = self.instances.first().filter(|_| self.is_back_dated);
        let back_dated = first.and_then(Warning::of_back_dated);
        former.into_iter().chain(future).chain(back_dated).collect()
    }
}

/// Warnings about a dataset, given the name that was typed and its present one: it was renamed or withdrawn, or
/// its last change is in the future.
pub(super) fn warnings_of_dataset(
    [asked, name]: [&DatasetName; 2],
    withdrawn: Option<&Withdrawal>,
    latest: Option<&Instance>,
    now: Timestamp,
) -> Vec<Warning> {
    let withdrawn = withdrawn.map(|it| Warning::new(WarningKind::Withdrawn, it.of(name)));
    let future = latest.and_then(|latest| Warning::of_future(latest, now));
    let former = Warning::of_former_name(asked, name);
    former.into_iter().chain(withdrawn).chain(future).collect()
}

impl SubsetCitation {
    /// Warns that the selection is the whole set. `None` means that it is not.
    pub fn warning(&self) -> Option<Warning> {
        let dataset = self.cited.period.set.dataset();
        self.cited.period.set.subset().is_none().then(|| {
            let message = format!(
                "the selection is all that {dataset} held: the whole set is cited, and no subset is saved"
            );
            Warning::new(WarningKind::SelectsAll, message)
        })
    }
}

impl CitationFacts {
    /// Warnings about a cited set: its dataset was withdrawn, was last changed in the future, or may no longer
    /// have held the set; the cited day has other identifiers; or an annotation says that the set, or the set
    /// it was selected from, is questionable.
    pub fn warnings(&self, at: Option<Moment>, now: Timestamp) -> Vec<Warning> {
        let instance = self.period.set.instance();
        let questionable = instance.annotations.iter().filter(|it| it.questionable);
        let questionable = questionable.map(|annotation| {
            let (identifier, dataset) = (instance.identifier, &instance.dataset);
            let message = format!("{identifier} of {dataset} is questionable: {}", annotation.note);
            Warning::new(WarningKind::Questionable, message)
        });
        let DatasetRecord { dataset, withdrawn, latest, confirmed, .. } = &self.dataset;
        let in_force = latest.as_ref().filter(|latest| latest.timestamp == instance.timestamp);
        let not_confirmed = at.zip(in_force).zip(confirmed.as_ref());
        let not_confirmed = not_confirmed.and_then(|((at, in_force), confirmed)| {
            Warning::of_not_confirmed(at.last_instant().min(now), in_force, confirmed)
        });
        let names = [&dataset.name, &dataset.name];
        let of_dataset = warnings_of_dataset(names, withdrawn.as_ref(), latest.as_ref(), now);
        let others = Warning::of_others(at, &self.others);
        of_dataset.into_iter().chain(not_confirmed).chain(others).chain(questionable).collect()
    }
}

impl Skipped {
    fn warning(self) -> Option<Warning> {
        let Skipped { held, repeated, missing } = self;
        let parts = [(held, "already held"), (missing, "not held"), (repeated, "repeated")];
        let parts = parts.into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts.map(|(number, why)| format!("{number} {why}")).collect();
        let skipped = plural(held + repeated + missing, "granule");
        let message = format!("skipped {skipped}: {}", parts.join(", "));
        (!parts.is_empty()).then(|| Warning::new(WarningKind::Skipped, message))
    }
}

impl ReturnedGranules {
    fn warning(&self) -> Warning {
        let ReturnedGranules { granules, without, earlier } = self;
        let timestamp = without.timestamp;
        let (were, are) = if *granules == 1 { ("was", "is") } else { ("were", "are") };
        let again = earlier.as_ref().map_or_else(String::new, |earlier| {
            let Instance { timestamp, identifier, .. } = earlier;
            format!(", and the set is again that of {timestamp}, DI:{identifier}")
        });
        let granules = plural(*granules, "granule");
        let message = format!("{granules} that {were} deleted at {timestamp} {are} back{again}");
        Warning::new(WarningKind::CameBack, message).of_instance(without)
    }
}

impl Warning {
    /// Warns that a dataset was named by a former name.
    pub fn of_former_name(asked: &DatasetName, current: &DatasetName) -> Option<Self> {
        let message = format!("{asked} was renamed: it is now {current}");
        (asked != current).then(|| Warning::new(WarningKind::FormerName, message))
    }

    /// Warns that no listing has confirmed for a month what a dataset holds. Only for datasets with recorded
    /// listings.
    fn of_not_confirmed(
        at: Timestamp,
        latest: &Instance,
        confirmed: &Confirmation,
    ) -> Option<Self> {
        const MONTH_MICROS: i64 = 31 * 24 * 3_600 * 1_000_000;
        let known = latest.timestamp.max(confirmed.recorded);
        let message = format!(
            "{} was last changed or confirmed at {known}: whether it still held this set on {} is not known",
            latest.dataset,
            at.day()
        );
        (at.as_micros() - known.as_micros() > MONTH_MICROS)
            .then(|| Warning::new(WarningKind::NotConfirmed, message))
    }

    /// Warns that the last change of a dataset is in the future.
    pub fn of_future(latest: &Instance, now: Timestamp) -> Option<Self> {
        let Instance { dataset, timestamp, .. } = latest;
        let message = format!(
            "the last change of {dataset}, at {timestamp}, is in the future: now it is {now}"
        );
        (*timestamp > now).then(|| Warning::new(WarningKind::LastChangeInFuture, message))
    }

    /// Warns that a change takes effect long before it is recorded. `None` if it only describes files, since
    /// the identifier stays the same.
    fn of_back_dated(change: &Instance) -> Option<Self> {
        let (at, day) = (change.timestamp, change.timestamp.day());
        let at = if day.start() == at { format!("on {day}") } else { format!("at {at}") };
        let message = format!(
            "this change takes effect {at}; citations of later dates, if any were made, have the previous identifier"
        );
        let changes_names = change.ingested + change.deleted > 0;
        changes_names.then(|| Warning::new(WarningKind::BackDated, message))
    }

    /// Warns that a date, which means the end of that day, does not name one set only.
    pub fn of_others(at: Option<Moment>, others: &[Instance]) -> Vec<Self> {
        let Some(at) = at else { return Vec::new() };
        let warning = |message| Warning::new(WarningKind::OtherIdentifiers, message);
        if let [first, .., last] = others
            && others.len() > MOST_NAMED
        {
            let message = format!(
                "on {at}, {} others were also in force, from {} to {}; a time of the day names one",
                others.len(),
                first.identifier,
                last.identifier
            );
            return vec![warning(message).of_dataset(&first.dataset)];
        }
        let of_one = |other: &Instance| {
            let (identifier, in_force) = (other.identifier, other.in_force());
            warning(format!(
                "on {at}, {identifier} was also in force: {in_force}; a time of the day names one"
            ))
        };
        others.iter().map(of_one).collect()
    }
}
