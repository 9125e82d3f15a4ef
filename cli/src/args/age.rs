//! Maximum ages and durations.

use std::time::Duration;

use super::set::Refusal;

/// Parses a maximum age or duration: a number and `s`, `m`, `h` or `d`.
///
/// # Errors
///
/// The text has another form, or is more than a [`Duration`] can be.
pub fn age(text: &str) -> Result<Duration, Refusal> {
    let refused = || Refusal::from("a duration is a number and a unit: 90m, 36h or 2d");
    let units = [('s', 1), ('m', 60), ('h', 3_600), ('d', 86_400)];
    let read = units.iter().find_map(|&(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = read.ok_or_else(refused)?;
    let number: u64 = number.parse().map_err(|_| refused())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_number_and_one_unit() {
        let cases = [("90m", 5_400), ("36h", 129_600), ("2d", 172_800), ("0s", 0)];
        for (text, seconds) in cases {
            assert_eq!(age(text).unwrap(), Duration::from_secs(seconds));
        }
        for text in ["", "d", "2", "2dd", "2hh", "2d2d", "2 d", "-2d", "2w", "999999999999999999d"]
        {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
