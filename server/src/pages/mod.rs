//! The pages of a registry: they convert data of a snapshot to HTML, without a server.
//!
//! Every page is complete without JavaScript, and readable on a phone, in dark mode and on paper. All text of
//! the registry is escaped, because titles, notes and ids may come from strangers.
//!
//! A [`Site`] contains the addresses of the pages, and whether a program responds to all of them or only files
//! exist. The files that all pages need are [`FILES`].

mod check;
mod citing;
mod comparison;
mod dataset;
mod fate;
mod feed;
mod figures;
mod granules;
mod history;
mod index;
mod layout;
mod plot;
mod record;
mod set;
mod site;
mod verify;

pub use check::{CheckPage, Quoted};
pub use citing::{Describes, FORMATS, Link, links};
pub use comparison::{ComparisonPage, DifferenceRow};
pub use dataset::DatasetPage;
pub use feed::{Feed, FeedEntry};
pub use history::{HistoryPage, Month, MonthPage, MonthSums, months_page};
pub use index::IndexPage;
pub use layout::{Detail, moved, not_found, problem};
pub use set::SetPage;
pub use site::{SITEMAP_ADDRESSES, Serves, Site, SitemapEntry, entries, robots, sitemap};
pub use verify::identifier_page;

/// The files that all pages need, each with its path, its media type and its content.
pub const FILES: [(&str, &str, &str); 3] = [
    (layout::STYLE, "text/css; charset=utf-8", include_str!("style.css")),
    (layout::SCRIPT, "text/javascript; charset=utf-8", include_str!("script.js")),
    (layout::ICON, "image/svg+xml", include_str!("icon.svg")),
];
