//! The marks of the plot's axes.

use crate::model::{Day, Timestamp};

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// A mark on the axis of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimeMark {
    pub at: Timestamp,
    pub label: String,
}

/// The distance between two marks on the axis of time.
#[derive(Debug, Clone, Copy)]
enum Step {
    Months(u32),
    Micros(i64),
}

const STEPS: [(i64, Step); 26] = [
    (1, Step::Micros(1)),
    (1_000, Step::Micros(1_000)),
    (100_000, Step::Micros(100_000)),
    (SECOND, Step::Micros(SECOND)),
    (10 * SECOND, Step::Micros(10 * SECOND)),
    (60 * SECOND, Step::Micros(60 * SECOND)),
    (600 * SECOND, Step::Micros(600 * SECOND)),
    (HOUR, Step::Micros(HOUR)),
    (3 * HOUR, Step::Micros(3 * HOUR)),
    (6 * HOUR, Step::Micros(6 * HOUR)),
    (DAY, Step::Micros(DAY)),
    (2 * DAY, Step::Micros(2 * DAY)),
    (7 * DAY, Step::Micros(7 * DAY)),
    (14 * DAY, Step::Micros(14 * DAY)),
    (30 * DAY, Step::Months(1)),
    (61 * DAY, Step::Months(2)),
    (91 * DAY, Step::Months(3)),
    (182 * DAY, Step::Months(6)),
    (365 * DAY, Step::Months(12)),
    (2 * 365 * DAY, Step::Months(12 * 2)),
    (5 * 365 * DAY, Step::Months(12 * 5)),
    (10 * 365 * DAY, Step::Months(12 * 10)),
    (50 * 365 * DAY, Step::Months(12 * 50)),
    (500 * 365 * DAY, Step::Months(12 * 500)),
    (2_000 * 365 * DAY, Step::Months(12 * 2_000)),
    (10_000 * 365 * DAY, Step::Months(12 * 10_000)),
];

/// The marks between two times, at most `most` of them, at round times.
pub(super) fn time_marks(from: Timestamp, until: Timestamp, most: usize) -> Vec<TimeMark> {
    let micros = until.as_micros() - from.as_micros();
    let mut finer: Vec<TimeMark> = Vec::new();
    for (length, step) in STEPS {
        if micros / length >= MAX_MARKS as i64 {
            continue;
        }
        let marks = marks_at(from, until, step);
        if marks.len() > most {
            finer = marks;
        } else if marks.is_empty() && !finer.is_empty() {
            // No round time of this kind is in the range: some of the finer ones are.
            let every = finer.len().div_ceil(most.max(1));
            return finer.into_iter().step_by(every).collect();
        } else {
            return marks;
        }
    }
    Vec::new()
}

/// More marks than this are not made.
const MAX_MARKS: usize = 100;

fn marks_at(from: Timestamp, until: Timestamp, step: Step) -> Vec<TimeMark> {
    let mut marks = Vec::new();
    match step {
        Step::Micros(length) => {
            let mut micros = from.as_micros().div_euclid(length) * length;
            while micros <= until.as_micros() && marks.len() < MAX_MARKS {
                if let Some(at) = Timestamp::from_micros(micros).filter(|at| *at >= from) {
                    marks.push(TimeMark { at, label: label(at, step) });
                }
                micros += length;
            }
        }
        Step::Months(months) => {
            let (year, _, _) = from.day().year_month_day();
            let mut month = (year * 12).div_euclid(months) * months;
            while let Some(at) =
                start_of(month).filter(|at| *at <= until && marks.len() < MAX_MARKS)
            {
                if at >= from {
                    marks.push(TimeMark { at, label: label(at, step) });
                }
                month += months;
            }
        }
    }
    marks
}

/// The beginning of a month, which is counted from the year 0.
fn start_of(month: u32) -> Option<Timestamp> {
    let day: Day = format!("{:04}-{:02}-01", month / 12, month % 12 + 1).parse().ok()?;
    Some(day.start())
}

fn label(at: Timestamp, step: Step) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let time = time.trim_end_matches('Z');
    match step {
        Step::Months(months) if months.is_multiple_of(12) => date[..4].to_owned(),
        Step::Months(_) => date[..7].to_owned(),
        Step::Micros(length) if length >= DAY => date.to_owned(),
        Step::Micros(length) if length >= 60 * SECOND => {
            if time == "00:00:00" {
                date.to_owned()
            } else {
                time[..5].to_owned()
            }
        }
        Step::Micros(_) => time.to_owned(),
    }
}

/// The marks from 0 to at least `most`, which are round numbers: four of them, or fewer.
pub(super) fn count_marks(most: u64) -> Vec<u64> {
    let mut unit: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = unit.saturating_mul(factor);
            if most.div_ceil(step) <= 4 {
                return (0..=most.div_ceil(step).max(1)).map(|n| n.saturating_mul(step)).collect();
            }
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: &str, until: &str) -> Vec<String> {
        let marks = time_marks(from.parse().unwrap(), until.parse().unwrap(), 6);
        marks.into_iter().map(|mark| mark.label).collect()
    }

    #[test]
    fn marks_are_at_round_times() {
        assert_eq!(
            labels("2001-01-02T00:00:00Z", "2005-12-30T00:00:00Z"),
            ["2002", "2003", "2004", "2005"]
        );
        assert_eq!(
            labels("2001-01-02T00:00:00Z", "2001-04-10T00:00:00Z"),
            ["2001-02", "2001-03", "2001-04"]
        );
        assert_eq!(
            labels("2001-01-02T00:00:00Z", "2001-01-04T12:00:00Z"),
            ["2001-01-02", "2001-01-03", "2001-01-04"]
        );
        // Three years in a narrow drawing, and four minutes within one quarter of an hour.
        let marks = |from: &str, until: &str| -> Vec<String> {
            let marks = time_marks(from.parse().unwrap(), until.parse().unwrap(), 3);
            marks.into_iter().map(|mark| mark.label).collect()
        };
        let years = marks("2018-01-01T00:20:00Z", "2021-01-12T00:00:00Z");
        assert_eq!(years, ["2019", "2020", "2021"]);
        let minutes = marks("2001-01-01T22:31:30Z", "2001-01-01T22:37:20Z");
        assert_eq!(minutes, ["22:32", "22:34", "22:36"]);
        assert_eq!(
            labels("2001-01-01T22:30:00Z", "2001-01-02T02:00:00Z"),
            ["23:00", "2001-01-02", "01:00", "02:00"]
        );
    }

    #[test]
    fn any_range_has_a_few_marks_inside() {
        let first: Timestamp = "0000-01-01T00:00:00Z".parse().unwrap();
        for power in 0..58 {
            let micros = first.as_micros().saturating_add(1_i64 << power);
            let Some(until) = Timestamp::from_micros(micros) else { continue };
            let marks = time_marks(first, until, 6);
            assert!(!marks.is_empty() && marks.len() <= 6, "{power}: {marks:?}");
            assert!(marks.iter().all(|mark| first <= mark.at && mark.at <= until));
        }
    }

    #[test]
    fn counts_end_at_a_round_number() {
        for (most, marks) in [
            (0, vec![0, 1]),
            (1, vec![0, 1]),
            (3, vec![0, 1, 2, 3]),
            (12, vec![0, 5, 10, 15]),
            (61_832, vec![0, 20_000, 40_000, 60_000, 80_000]),
        ] {
            assert_eq!(count_marks(most), marks, "{most}");
        }
        assert!(*count_marks(u64::MAX).last().unwrap() >= u64::MAX / 2);
    }
}
