//! The pages of a registry: from data of a snapshot to HTML, without a server.
//!
//! Every page is complete without JavaScript, and readable on a phone, in the dark and on paper. All
//! text of the registry is escaped: titles, notes and ids come from strangers.
//!
//! A [`Site`] says where the pages are: its addresses, and whether a program answers all of them or
//! only files are there. The style sheet is [`STYLE`], at [`STYLE_PATH`].

mod check;
mod citing;
mod dataset;
mod figures;
mod find;
mod index;
mod instance;
mod layout;
mod link;
mod plot;
mod record;
mod set;
mod site;

pub use check::{CheckPage, Quoted};
pub use citing::FORMATS;
pub use dataset::{DatasetPage, HistoryPage};
pub use find::{ComparedSide, ComparisonPage, FindPage};
pub use index::{IndexPage, SITEMAP_ADDRESSES, robots, sitemap, sitemap_index, sitemaps};
pub use instance::InstancePage;
pub use layout::{ProblemPage, moved};
pub use link::{Describes, Extent, Link, links, within_header};
pub use plot::Series;
pub use set::{SetPage, Since};
pub use site::{Serves, Site};

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// The path of the style sheet.
pub const STYLE_PATH: &str = "/style.css";
