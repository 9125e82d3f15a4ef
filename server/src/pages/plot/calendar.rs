//! The calendar in UTC: the units in which a plot counts, and round numbers for its scales.

use crate::pages::figures::{DAY, day_text, month_name};
use accession::model::Timestamp;

/// A calendar unit, of which every instant is in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Day,
    /// From Monday.
    Week,
    Month,
    Quarter,
    Year,
}

impl Unit {
    /// All of them, the finest first.
    pub const ALL: [Unit; 5] = [Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];

    /// The finest unit of which a range of time has at most so many, else the year.
    pub fn finest(most: i64, first: Timestamp, last: Timestamp) -> Self {
        let fits = |unit: &Unit| unit.index(last) - unit.index(first) < most;
        Unit::ALL.into_iter().find(fits).unwrap_or(Unit::Year)
    }

    /// How many months it has. `None` means that it is counted in days.
    fn months(self) -> Option<i64> {
        Some(match self {
            Unit::Day | Unit::Week => return None,
            Unit::Month => 1,
            Unit::Quarter => 3,
            Unit::Year => 12,
        })
    }

    /// The number of the unit that contains an instant. The next unit has the next number.
    pub fn index(self, at: Timestamp) -> i64 {
        let day = at.as_micros().div_euclid(DAY);
        match (self, self.months()) {
            (_, Some(months)) => {
                let (year, month, _) = at.day().year_month_day();
                (i64::from(year) * 12 + i64::from(month) - 1).div_euclid(months)
            }
            // 1970-01-01 was a Thursday.
            (Unit::Week, None) => (day + 3).div_euclid(7),
            (_, None) => day,
        }
    }

    /// The first instant of a unit.
    pub fn start(self, index: i64) -> Timestamp {
        let day = match (self, self.months()) {
            (_, Some(months)) => first_day(index * months),
            (Unit::Week, None) => index * 7 - 3,
            (_, None) => index,
        };
        Timestamp::from_micros(day.saturating_mul(DAY)).unwrap_or(match day < 0 {
            true => Timestamp::MIN,
            false => Timestamp::MAX,
        })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Quarter => "quarter",
            Unit::Year => "year",
        }
    }

    /// One of them in words: `29 Dec–4 Jan`, `Mar 2026`, `2026`.
    pub fn describe(self, index: i64) -> String {
        let first = self.start(index).day();
        let last = Timestamp::from_micros(self.start(index + 1).as_micros() - 1);
        let last = last.map_or(first, Timestamp::day);
        let ((year, month, day), (_, last_month, last_day)) =
            (first.year_month_day(), last.year_month_day());
        let (from, to) = (month_name(month), month_name(last_month));
        match self {
            Unit::Day => day_text(first),
            Unit::Week if month == last_month => format!("{day}–{last_day} {to}"),
            Unit::Week => format!("{day} {from}–{last_day} {to}"),
            Unit::Month => format!("{from} {year}"),
            Unit::Quarter => format!("{from}–{to} {year}"),
            Unit::Year => year.to_string(),
        }
    }
}

/// The day on which a month begins, both counted from 1970-01-01 and from the year 0.
fn first_day(month: i64) -> i64 {
    // Years begin in March, so that the day that some years have is their last.
    let (year, month) = ((month - 2).div_euclid(12), (month - 2).rem_euclid(12));
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    days + (153 * month + 2) / 5 - 719_468
}

/// A mark on the axis of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tick {
    pub at: Timestamp,
    pub label: String,
    /// Whether a year begins in the middle of shorter units.
    pub is_year: bool,
    /// Whether a phone has no room for it.
    pub is_for_wide: bool,
}

/// The width of a plot on a narrow phone, and that of a character of its labels, in pixels.
const PHONE: f64 = 250.0;
const CHARACTER: f64 = 6.5;

/// The marks between two times, at most about 14.
pub(super) fn ticks(first: Timestamp, until: Timestamp) -> Vec<Tick> {
    const MOST: i64 = 14;
    let years = Unit::Year.index(until) - Unit::Year.index(first);
    let unit = Unit::finest(MOST, first, until);
    let every = if unit == Unit::Year { round_up(years as f64 / MOST as f64) as i64 } else { 1 };
    let in_months = matches!(unit, Unit::Month | Unit::Quarter);
    let passed = |at: Timestamp| at.as_micros() - first.as_micros();
    let mut ticks: Vec<Tick> = Vec::new();
    for index in (unit.index(first)..=unit.index(until)).filter(|it| it.rem_euclid(every) == 0) {
        let (at, next) = (unit.start(index), unit.start(index + 1));
        // One whose label would leave the drawing is left out.
        let is_late = passed(at) as f64 > 0.965 * passed(until) as f64;
        if is_late || -passed(at) > (next.as_micros() - at.as_micros()) / 3 {
            continue;
        }
        let (year, month, day) = at.day().year_month_day();
        let is_year = unit == Unit::Year || in_months && month == 1;
        let label = match (is_year, in_months) {
            (true, _) => year.to_string(),
            (_, true) => month_name(month).to_owned(),
            _ => format!("{day} {}", month_name(month)),
        };
        let label = if ticks.is_empty() && !is_year { format!("{label} {year}") } else { label };
        let is_year = is_year && in_months;
        ticks.push(Tick { at: at.max(first), label, is_year, is_for_wide: false });
    }
    // A phone shows those that have room after the one before, and before the edge. A year that begins stays.
    let mut shown: Vec<(usize, f64)> = Vec::new();
    for (index, tick) in ticks.iter_mut().enumerate() {
        let begins = passed(tick.at) as f64 / passed(until) as f64 * PHONE;
        let ends = begins + CHARACTER * (tick.label.len() + 1) as f64;
        while tick.is_year && shown.last().is_some_and(|(_, taken)| *taken > begins) {
            shown.pop();
        }
        if ends <= PHONE + CHARACTER && shown.last().is_none_or(|(_, taken)| *taken <= begins) {
            shown.push((index, ends));
        }
        tick.is_for_wide = true;
    }
    shown.into_iter().for_each(|(index, _)| ticks[index].is_for_wide = false);
    ticks
}

/// The least of 1, 2 and 5 times a power of ten that is at least `number`.
pub(super) fn round_up(number: f64) -> u64 {
    let power = 10_f64.powi(number.max(1.0).log10().floor() as i32);
    let round = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    round.into_iter().find(|it| *it >= number).unwrap_or(10.0 * power) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn every_unit_begins_where_the_one_before_ends() {
        for unit in Unit::ALL {
            for day in ["0000-02-29", "1582-10-15", "1970-01-01", "1999-12-31", "2000-02-29"] {
                let at = at(&format!("{day}T12:00:00Z"));
                let index = unit.index(at);
                let (start, next) = (unit.start(index), unit.start(index + 1));
                assert!(start <= at && at < next, "{unit:?} {day}: {start} {next}");
                assert_eq!(unit.index(start), index, "{unit:?} {day}");
                assert_eq!(unit.index(next), index + 1, "{unit:?} {day}");
            }
        }
    }

    #[test]
    fn units_have_names() {
        for (unit, day, name) in [
            (Unit::Week, "2026-01-01", "29 Dec–4 Jan"),
            (Unit::Week, "2026-10-24", "19–25 Oct"),
            (Unit::Quarter, "2026-10-24", "Oct–Dec 2026"),
        ] {
            assert_eq!(unit.describe(unit.index(at(&format!("{day}T00:00:00Z")))), name);
        }
    }

    #[test]
    fn ticks_are_few_and_at_round_times_in_any_range() {
        let labels = |from: &str, until: &str| -> Vec<String> {
            ticks(at(from), at(until)).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(
            labels("2025-12-01T06:12:41Z", "2026-04-24T00:00:00Z"),
            ["Dec 2025", "2026", "Feb", "Mar", "Apr"]
        );
        assert_eq!(
            labels("2001-01-02T00:00:00Z", "2001-01-04T12:00:00Z"),
            ["2 Jan 2001", "3 Jan", "4 Jan"]
        );
        assert_eq!(labels("2001-01-02T00:00:00Z", "2026-11-24T00:00:00Z").len(), 12);
        let on_a_phone = |from: &str, until: &str| -> Vec<String> {
            let ticks = ticks(at(from), at(until)).into_iter().filter(|tick| !tick.is_for_wide);
            ticks.map(|tick| tick.label).collect()
        };
        assert_eq!(
            on_a_phone("2001-01-02T00:00:00Z", "2001-03-21T00:00:00Z"),
            ["1 Jan 2001", "29 Jan", "19 Feb"]
        );
        assert_eq!(
            on_a_phone("2025-11-01T06:12:41Z", "2026-10-24T00:00:00Z"),
            ["2026", "Mar", "May", "Jul", "Sep"]
        );
        for power in 30..58 {
            let until = Timestamp::MIN.as_micros().saturating_add(1_i64 << power);
            let Some(until) = Timestamp::from_micros(until) else { continue };
            let ticks = ticks(Timestamp::MIN, until);
            assert!(!ticks.is_empty() && ticks.len() <= 15, "{power}: {ticks:?}");
        }
    }

    #[test]
    fn numbers_are_rounded_up() {
        for (number, round) in
            [(0.3, 1), (1.0, 1), (1.2, 2), (4.9, 5), (51.0, 100), (2e18, 2_000_000_000_000_000_000)]
        {
            assert_eq!(round_up(number), round, "{number}");
        }
    }
}
