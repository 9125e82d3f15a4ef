//! What the record of a dataset says, and whether the dataset was withdrawn.

use maud::{Markup, html};

use super::figures::{date, note, visible};
use super::site::Site;
use crate::model::{Annotation, Creator, Dataset, DatasetName, WebAddress, Withdrawal};

/// The title of a dataset or, if it has none, its name.
pub(super) fn title(record: &Dataset) -> String {
    let title = record.title.as_deref().map(visible).filter(|title| !title.trim().is_empty());
    title.unwrap_or_else(|| record.name.to_string())
}

/// The line below the title: creators, publisher, year, version, DOI.
pub(super) fn byline(record: &Dataset) -> Markup {
    /// More creators than this are in a list that can be opened.
    const MAX_SHOWN: usize = 6;
    let shown = record.creators.len().min(MAX_SHOWN);
    html! {
        p.by {
            @if shown > 0 {
                span {
                    @for (index, creator) in record.creators[..shown].iter().enumerate() {
                        @if index > 0 { "; " }
                        (self::creator(creator))
                    }
                    @if record.creators.len() > shown {
                        " and " (record.creators.len() - shown) " others"
                    }
                }
            }
            @if let Some(publisher) = &record.publisher { span { (visible(publisher)) } }
            @if let Some(year) = record.year { span { (year) } }
            @if let Some(version) = &record.version { span { "version " (visible(version)) } }
            @if let Some(doi) = &record.doi { span { a href=(doi.address()) { "doi:" (doi) } } }
        }
        @if record.creators.len() > shown {
            details {
                summary { "All " (record.creators.len()) " creators" }
                ul.names { @for creator in &record.creators { li { (self::creator(creator)) } } }
            }
        }
    }
}

fn creator(creator: &Creator) -> Markup {
    let name = visible(&creator.full_name());
    html! {
        @match creator.orcid() {
            Some(orcid) => { a href=(orcid.address()) { (name) } },
            None => { (name) },
        }
    }
}

/// The facts of a record that neither the title nor the byline shows, and then `others`.
pub(super) fn facts(record: &Dataset, former_names: &[DatasetName], others: &Markup) -> Markup {
    html! {
        dl.facts {
            @if let Some(url) = &record.url {
                dt { "Web page" }
                dd { (web_link(url)) }
            }
            @if let Some(licence) = &record.licence {
                dt { "Licence" }
                dd {
                    @match licence.address() {
                        Some(address) => { a href=(address) { (visible(licence.as_str())) } },
                        None => { (visible(licence.as_str())) },
                    }
                }
            }
            @if let Some(archive) = &record.archive {
                dt { "Archive" }
                dd { (visible(archive)) }
            }
            @if !record.keywords.is_empty() {
                dt { "Keywords" }
                dd {
                    @for (index, keyword) in record.keywords.iter().enumerate() {
                        @if index > 0 { ", " }
                        (visible(keyword.as_str()))
                    }
                }
            }
            @if let Some(temporal) = record.temporal {
                dt { "Time covered" }
                dd { (temporal) }
            }
            @if let Some(is_free) = record.free_access {
                dt { "Free access" }
                dd { @if is_free { "yes" } @else { "no" } }
            }
            @if let Some(granule_url) = &record.granule_url {
                dt { "Granules" }
                dd { code { (visible(granule_url.as_str())) } }
            }
            dt { "Name here" }
            dd { code { (record.name) } }
            @if !former_names.is_empty() {
                dt { "Former names" }
                dd {
                    @for (index, name) in former_names.iter().enumerate() {
                        @if index > 0 { ", " }
                        code { (name) }
                    }
                }
            }
            (others)
        }
    }
}

fn web_link(url: &WebAddress) -> Markup {
    html! { a href=(url.as_str()) { (visible(url.as_str())) } }
}

/// A notice that a dataset was withdrawn.
pub(super) fn withdrawal(site: &Site, withdrawn: Option<&Withdrawal>) -> Markup {
    html! {
        @if let Some(withdrawal) = withdrawn {
            div.notice role="note" {
                p {
                    strong { "This dataset was withdrawn" } " on " (date(withdrawal.timestamp)) ". "
                    "It no longer changes."
                    @if site.is_complete() { " Every identifier that was ever issued still resolves." }
                }
                @if let Some(text) = &withdrawal.note { p.reason { (note(text)) } }
            }
        }
    }
}

/// A notice that a set should not be relied on.
pub(super) fn questionable(annotation: &Annotation) -> Markup {
    html! {
        div.notice role="note" {
            p {
                strong.warn { "Questionable." } " " (note(&annotation.note)) " "
                span.soft { "Noted by the archive, " (date(annotation.recorded)) "." }
            }
        }
    }
}

/// The description of a dataset: paragraphs are separated by empty lines.
pub(super) fn description(record: &Dataset) -> Markup {
    let text = record.description.as_deref().unwrap_or_default();
    html! {
        @if !text.trim().is_empty() {
            div.text {
                @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
                    p { (visible(paragraph.trim())) }
                }
            }
        }
    }
}
