//! Where a dataset is that was renamed, on a web server that cannot redirect.

use maud::html;

use super::layout::{Head, Section, page};
use super::site::Site;
use crate::model::DatasetName;

/// The page under a former name of a dataset, which leads to its present page.
pub fn moved(site: &Site, present: &DatasetName) -> String {
    let target = site.href(&Site::dataset(present));
    let main = html! {
        div.masthead {
            h1 { "This dataset has another name now" }
            p.lead { "It is " a href=(target) { (present) } "." }
        }
    };
    let head = Head {
        title: present.to_string(),
        section: Section::Datasets,
        is_unlisted: true,
        refresh: Some(target),
        ..Head::default()
    };
    page(site, &head, &main).into_string()
}
