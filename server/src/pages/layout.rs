//! The parts that all pages share, and the pages without other content: an error, a former name.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::citing;
use super::citing::Link;
use super::figures::visible;
use super::site::Site;
use accession::DatasetName;

/// The paths of the files that every page needs.
pub(super) const STYLE: &str = "/style.css";
pub(super) const SCRIPT: &str = "/script.js";
pub(super) const ICON: &str = "/icon.svg";

/// The contents of the head of a page.
#[derive(Debug, Default)]
pub(super) struct PageHead {
    /// The title, without the name of the site.
    pub title: String,
    /// A description for search engines and previews. `None` means that there is none.
    pub description: Option<String>,
    /// The canonical path of the page. `None` means that it should not be found by an address.
    pub canonical: Option<String>,
    /// The address in the printed page, if it differs from the canonical one. `None` means that it is the same.
    pub printed: Option<String>,
    /// The path of the feed about the subject of the page. `None` means that there is none.
    pub feed: Option<String>,
    /// The same links as in the HTTP header `Link`.
    pub links: Vec<Link>,
    /// The `meta` elements, as names and contents.
    pub meta: Vec<(&'static str, String)>,
    /// The JSON-LD block. `None` means that there is none.
    pub json_ld: Option<String>,
    /// The navigation entry of the page.
    pub section: Section,
    /// Whether search engines should leave the page out.
    pub is_unlisted: bool,
    /// The address to which a browser is sent. `None` means that it stays on this page.
    pub refresh: Option<String>,
    /// The path to which links are relative, for a page that is sent at any address. `None` means the page's
    /// own path.
    pub base: Option<String>,
}

/// An entry of the navigation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// None of the entries.
    #[default]
    Other,
    Datasets,
    Check,
}

const NAVIGATION: [(Section, &str, &str); 2] =
    [(Section::Datasets, "/", "Datasets"), (Section::Check, "/check", "Check citations")];

/// The parts of a dataset or a set that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything on its page.
    Page,
    /// The parts that programs read: the record, the set, and its citation.
    Record,
}

/// The greatest number of characters of a description in the head.
const DESCRIPTION_CHARACTERS: usize = 300;

/// Renders a page.
pub(super) fn page(site: &Site, head: &PageHead, main: &Markup) -> String {
    let description = head.description.as_deref().map(visible);
    let description =
        description.map(|text| text.chars().take(DESCRIPTION_CHARACTERS).collect::<String>());
    let has_canonical = head.links.iter().any(|link| link.rel == "canonical");
    let canonical = head.canonical.as_ref().and_then(|path| site.canonical(path));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                @if let Some(path) = &head.base { base href=(path); }
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (head.title) " · " (site.name) }
                @if let Some(text) = &description { meta name="description" content=(text); }
                @if let Some(target) = &head.refresh {
                    meta http-equiv="refresh" content={ "0; url=" (target) };
                }
                @if head.is_unlisted { meta name="robots" content="noindex"; }
                meta name="color-scheme" content="light dark";
                link rel="stylesheet" href=(site.href(STYLE));
                link rel="icon" href=(site.href(ICON));
                script src=(site.href(SCRIPT)) defer {}
                @if let Some(address) = canonical.as_ref().filter(|_| !has_canonical) {
                    link rel="canonical" href=(address);
                }
                @if let Some(path) = &head.feed {
                    link rel="alternate" type="application/atom+xml" title="Changes" href=(site.href(path));
                }
                @if description.is_some() || !head.is_unlisted {
                    meta property="og:title" content=(head.title);
                    @if let Some(text) = &description { meta property="og:description" content=(text); }
                    meta property="og:type" content="website";
                    meta property="og:site_name" content=(site.name);
                    @if let Some(address) = &canonical { meta property="og:url" content=(address); }
                }
                @for link in &head.links { (link.element()) }
                @for (name, content) in &head.meta { meta name=(name) content=(content); }
                @if let Some(json) = &head.json_ld {
                    script type="application/ld+json" { (PreEscaped(citing::in_script(json))) }
                }
            }
            body {
                a.skip.vh href="#main" { "Skip to the content" }
                (header(site, head.section))
                main #main tabindex="-1" { (main) }
                @let own = head.links.iter().find(|link| link.rel == "canonical");
                @let known = own.map(|link| &link.href).or(canonical.as_ref());
                @if let Some(address) = head.printed.as_ref().or(known) {
                    p.printed { (address) }
                }
                (footer(site))
            }
        }
    };
    page.into_string()
}

fn header(site: &Site, section: Section) -> Markup {
    html! {
        header.site {
            div.in {
                a.brand href=(site.href("/")) { (mark()) (site.name) }
                @if site.is_complete() {
                    nav aria-label="Site" {
                        @for (entry, path, label) in NAVIGATION {
                            a href=(site.href(path)) aria-current=[(entry == section).then_some("page")] {
                                (label)
                            }
                        }
                    }
                    form role="search" aria-label="Everywhere" action=(site.href("/")) {
                        input type="search" name="q" aria-label="Dataset, DOI, identifier or granule"
                            placeholder="Dataset, DOI, identifier, granule";
                        " "
                        button.vh { "Search" }
                    }
                }
            }
        }
    }
}

/// The logo beside the name: a line that rises in steps to the latest change.
fn mark() -> Markup {
    PreEscaped(
        "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><rect width=\"24\" height=\"24\" rx=\"4\"/>\
         <path d=\"M4 18h5v-5h5v-6h5\"/><path class=\"dot\" d=\"M19 7h0\"/></svg>"
            .to_owned(),
    )
}

fn footer(site: &Site) -> Markup {
    html! {
        footer.foot {
            div.in {
                p {
                    (site.name)
                    @if let Some(contact) = &site.contact { " · " (contact_link(contact)) }
                }
                p {
                    a href=(site.href(site.identifier_page())) { "How identifiers are computed" } " · "
                    @if site.is_complete() {
                        a href=(site.href("/openapi.json")) { "API" } " · "
                    }
                    "accession " (env!("CARGO_PKG_VERSION"))
                }
            }
        }
    }
}

/// The contact of the people who run the site. If it is an address, it becomes a link.
fn contact_link(contact: &str) -> Markup {
    let is_web = contact.starts_with("https://") || contact.starts_with("http://");
    let is_mail = contact.contains('@') && !contact.contains(char::is_whitespace);
    html! {
        @if is_web { a href=(contact) { (contact) } }
        @else if is_mail { a href={ "mailto:" (contact) } { (contact) } }
        @else { (contact) }
    }
}

/// A trail from the start page to this one: steps with paths and labels, and the label of this page.
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

/// The page of an error with this HTTP status. `hint` says what to do next; `None` means that there is no
/// advice.
pub fn problem(site: &Site, status: u16, title: &str, detail: &str, hint: Option<&str>) -> String {
    let main = html! {
        div.head {
            p.label { (status) }
            h1 { (title) }
            p.lead { (visible(detail)) }
            @if let Some(hint) = hint { p { (visible(hint)) } }
        }
        p.actions {
            a.button.main href=(site.href("/")) { "All datasets" }
            " "
            a.button href=(site.href("/check")) { "Check a citation" }
        }
    };
    let head = PageHead { title: title.to_owned(), is_unlisted: true, ..PageHead::default() };
    page(site, &head, &main)
}

/// The page at a former name of a dataset, which leads to its current page.
pub fn moved(site: &Site, present: &DatasetName) -> String {
    let target = site.href(&Site::dataset(present));
    let main = html! {
        div.head {
            h1 { "This dataset has another name now" }
            p.lead { "It is " a href=(target) { (present) } "." }
        }
    };
    let head = PageHead {
        title: present.to_string(),
        section: Section::Datasets,
        is_unlisted: true,
        refresh: Some(target),
        ..PageHead::default()
    };
    page(site, &head, &main)
}

/// The page that a web server sends for a missing file of a published site. If scripts run, it redirects the
/// address of an identifier to the page of its set.
pub fn not_found(site: &Site) -> String {
    let main = html! {
        div.head {
            h1 { "There is no such page" }
            p.lead { "Is it the address of an identifier? It may be misspelt, or of another archive." }
        }
        (resolver())
        p.actions { a.button.main href=(site.href("/")) { "All datasets" } }
    };
    let head = PageHead {
        title: "There is no such page".to_owned(),
        is_unlisted: true,
        base: Some(format!("{}/", site.base_path())),
        ..PageHead::default()
    };
    page(site, &head, &main)
}

/// The field of a published site in which readers paste an identifier. It needs the script, and is hidden
/// without it.
pub(super) fn resolver() -> Markup {
    html! {
        form.text data-resolve hidden {
            label for="identifier" { "An identifier from a paper" }
            div.field {
                input #identifier autocomplete="off" spellcheck="false" placeholder="DI:…";
                " " button.main { "Find its set" }
            }
            p #found role="status" {}
        }
        noscript {
            p.text { "Without its script, this page cannot find it: the page of its dataset leads to all its sets." }
        }
    }
}
