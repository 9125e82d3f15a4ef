//! Times as arguments.

use accession::{Clock, Moment, ParseError};

/// Parses the time of a query: an instant, `now`, or a date, which means the end of that day.
pub fn moment(text: &str) -> Result<Moment, ParseError> {
    Moment::typed(text, Clock::system().now())
}
