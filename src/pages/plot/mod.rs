//! The plot of the granules that a dataset held over time, with what each change added and deleted.
//!
//! A [`Series`] keeps a history of any length in at most 1,024 spans of time, and can be extended as
//! the history grows. It is drawn as SVG: no script is needed, and each point links to its instance.
//! Spans that fall on the same column of the screen are drawn as one, with the least and the most
//! that was held, so that extremes are never lost.

mod axis;
mod series;
mod svg;

pub use series::Series;
pub(super) use svg::figure;
