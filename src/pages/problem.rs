//! The page of an error.

use maud::html;

use super::figures::visible;
use super::layout::{Head, page};
use super::site::Site;

/// The page of an error.
#[derive(Debug)]
pub struct ProblemPage<'a> {
    /// The HTTP status.
    pub status: u16,
    /// What it is called, in a few words.
    pub title: &'a str,
    /// What is wrong. `None` means that the title says it all.
    pub detail: Option<&'a str>,
    /// What to do next. `None` means that there is nothing to advise.
    pub hint: Option<&'a str>,
}

impl ProblemPage<'_> {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let main = html! {
            div.masthead.problem-page {
                p.kicker { (self.status) }
                h1 { (self.title) }
                @if let Some(detail) = self.detail { p.lead { (visible(detail)) } }
                @if let Some(hint) = self.hint { p { (visible(hint)) } }
            }
            p.actions {
                a.button href=(site.href("/")) { "All datasets" }
                " "
                a.button.plain href=(site.href("/check")) { "Check a citation" }
            }
        };
        let head = Head { title: self.title.to_owned(), is_unlisted: true, ..Head::default() };
        page(site, &head, &main).into_string()
    }
}
