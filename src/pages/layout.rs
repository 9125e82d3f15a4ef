//! What all pages have in common, and the pages that say nothing else: an error, a former name.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::visible;
use super::link::Link;
use super::site::Site;
use super::{STYLE_PATH, citing};
use crate::model::DatasetName;

/// What is in the head of a page.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    /// The title, without the name of the site.
    pub title: String,
    /// A description for search engines. `None` means that there is none.
    pub description: Option<String>,
    /// The same links as in the header `Link`.
    pub links: &'a [Link],
    /// The `meta` elements, as names and contents.
    pub meta: Vec<(&'static str, String)>,
    /// The JSON-LD block. `None` means that there is none.
    pub json_ld: Option<String>,
    /// The entry of the navigation to which the page belongs.
    pub section: Section,
    /// Whether search engines should leave the page out.
    pub is_unlisted: bool,
    /// The address that is shown in place of this page. `None` means that there is none.
    pub refresh: Option<String>,
}

/// An entry of the navigation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// None of them.
    #[default]
    Other,
    Datasets,
    Find,
    Check,
}

const NAVIGATION: [(Section, &str, &str); 3] = [
    (Section::Datasets, "/", "Datasets"),
    (Section::Find, "/find", "Find a granule"),
    (Section::Check, "/check", "Check citations"),
];

/// The whole page.
pub(super) fn page(site: &Site, head: &Head<'_>, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (head.title) " · " (site.name) }
                @if let Some(description) = &head.description {
                    meta name="description" content=(description);
                }
                @if let Some(target) = &head.refresh {
                    meta http-equiv="refresh" content={ "0; url=" (target) };
                }
                @if head.is_unlisted { meta name="robots" content="noindex"; }
                meta name="color-scheme" content="light dark";
                link rel="stylesheet" href=(site.href(STYLE_PATH));
                link rel="icon" href="data:,";
                @for link in head.links { (link.element()) }
                @for (name, content) in &head.meta { meta name=(name) content=(content); }
                @if let Some(json) = &head.json_ld {
                    script type="application/ld+json" { (PreEscaped(citing::in_script(json))) }
                }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(site, head.section))
                main #main tabindex="-1" { (main) }
                (footer(site))
            }
        }
    }
}

fn header(site: &Site, section: Section) -> Markup {
    html! {
        header.site {
            div.inner {
                a.brand href=(site.href("/")) { (mark()) span { (site.name) } }
                @if site.is_complete() {
                    nav aria-label="Site" {
                        @for (entry, path, label) in NAVIGATION {
                            a href=(site.href(path)) aria-current=[(entry == section).then_some("page")] {
                                (label)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The mark beside the name: three lines of a register, one of them current.
fn mark() -> Markup {
    html! {
        svg.mark viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false" {
            rect x="1" y="2" width="11" height="3.4" rx="1.2" {}
            rect x="1" y="8.3" width="18" height="3.4" rx="1.2" class="now" {}
            rect x="1" y="14.6" width="14" height="3.4" rx="1.2" {}
        }
    }
}

fn footer(site: &Site) -> Markup {
    html! {
        footer.site {
            div.inner {
                p {
                    span { (site.name) }
                    @if let Some(contact) = &site.contact { " · " (contact_link(contact)) }
                }
                p {
                    @if site.is_complete() {
                        a href=(site.href("/openapi.json")) { "API" } " · "
                    }
                    "accession " (env!("CARGO_PKG_VERSION"))
                }
            }
        }
    }
}

/// How to reach the people who run the site: a link where it is an address.
fn contact_link(contact: &str) -> Markup {
    let is_web = contact.starts_with("https://") || contact.starts_with("http://");
    let is_mail = contact.contains('@') && !contact.contains(char::is_whitespace);
    html! {
        @if is_web { a href=(contact) { (contact) } }
        @else if is_mail { a href={ "mailto:" (contact) } { (contact) } }
        @else { (contact) }
    }
}

/// A trail from the start page to this one: paths and their labels, the last without a path.
pub(super) fn trail(site: &Site, steps: &[(String, &str)], here: &str) -> Markup {
    html! {
        nav.trail aria-label="Breadcrumb" {
            ol {
                li { a href=(site.href("/")) { "Datasets" } }
                @for (path, label) in steps { li { a href=(site.href(path)) { (label) } } }
                li { span aria-current="page" { (here) } }
            }
        }
    }
}

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
