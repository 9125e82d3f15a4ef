//! The plot of the granules that a dataset held over time, with what was added and deleted.
//!
//! A [`Series`] is what is drawn of a history of any length. The drawing is SVG that needs no script. Its
//! rules:
//!
//! 1. Time runs from the first change to the end of today; in files, which nobody renews, to the last
//!    change or confirmation. The right edge says which. After the last change, the axis is broken if more
//!    time has passed since than a year and than the history took.
//! 2. Above is the line of granules held, in steps, at most 600 of them. The last change has a dot, from
//!    which the line is dashed.
//! 3. The scale of the line begins at 0 and the area below it is filled, unless the dataset never held
//!    less than 60 % of its most. Then the scale begins at a round number and says so.
//! 4. Below is what was added and deleted in each calendar unit: the finest of which there are at most 60, or
//!    years, which is named. The scale is linear and labelled, and no bar is lower than a pixel. The first
//!    change is where the line begins and has no bar: a first delivery would flatten all others.
//! 5. The three largest changes after the first, if they are larger than the rest, are numbered, and named
//!    below with their notes. Annotated changes are marked.
//! 6. One drawing serves all widths: its shapes stretch, its words do not. A table has the same figures.
//! 7. One change is a sentence.

mod calendar;
mod drawing;
mod series;
mod spark;

pub(super) use drawing::{Figure, figure, signed};
pub use series::Series;
pub use spark::Spark;
