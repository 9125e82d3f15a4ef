//! The pages of a registry: from data of a snapshot to HTML, without a server.
//!
//! Every page is complete without JavaScript, and readable on a phone, in the dark and on paper. All
//! text of the registry is escaped: titles, notes and ids come from strangers.
//!
//! A [`Site`] says where the pages are: its addresses, and whether a program answers all of them or
//! only files are there. The style sheet is [`STYLE`], at [`STYLE_PATH`].

mod changes;
mod check;
mod citing;
mod comparison;
mod dataset;
mod figures;
mod find;
mod history;
mod index;
mod instance;
mod layout;
mod link;
mod linked;
mod moved;
mod plot;
mod problem;
mod record;
mod search_engines;
mod set;
mod site;
mod structured;
mod verifying;

pub use check::{CheckPage, Quoted};
pub use citing::{FORMATS, Offered, media_type};
pub use comparison::{ComparedSide, ComparisonPage};
pub use dataset::DatasetPage;
pub use find::FindPage;
pub use history::HistoryPage;
pub use index::IndexPage;
pub use instance::InstancePage;
pub use link::Link;
pub use linked::{Describes, Extent, links, within_header};
pub use moved::moved;
pub use plot::Series;
pub use problem::ProblemPage;
pub use search_engines::{SITEMAP_ADDRESSES, robots, sitemap, sitemap_index};
pub use set::{SetPage, Since};
pub use site::{Serves, Site};

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// The path of the style sheet.
pub const STYLE_PATH: &str = "/style.css";
