//! The metadata of a dataset, and notices about it, such as that it was withdrawn.

use maud::{Markup, html};

use super::figures::{Facts, date, joined, note, visible};
use super::site::Site;
use accession::DatasetName;
use accession::dataset::{
    Correction, Creator, DatasetMetadata, GranuleUrl, WebAddress, Withdrawal,
};
use accession::history::Annotation;

/// The title of a dataset or, if it has none, its name.
pub(super) fn title(record: &DatasetMetadata) -> String {
    let title = record.title.as_deref().map(visible).filter(|title| !title.trim().is_empty());
    title.unwrap_or_else(|| record.name.to_string())
}

/// The line below the title: creators, publisher, year, version, DOI.
pub(super) fn byline(record: &DatasetMetadata) -> Markup {
    /// Further creators are in a list that can be opened.
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

/// The facts of a record that are neither in the title nor in the byline.
pub(super) fn facts(record: &DatasetMetadata, former_names: &[DatasetName]) -> Facts {
    let shown = |text: &str| html! { (visible(text)) };
    let named = |name: &DatasetName| html! { code { (name) } };
    let licence = record.licence.as_ref().map(|licence| match licence.address() {
        Some(address) => html! { a href=(address) { (visible(licence.as_str())) } },
        None => shown(licence.as_str()),
    });
    let web_page = |url: &WebAddress| html! { a href=(url.as_str()) { (visible(url.as_str())) } };
    let keywords = record.keywords.iter().map(|keyword| shown(keyword.as_str()));
    let granules = |url: &GranuleUrl| html! { code { (visible(url.as_str())) } };
    let is_free = |is_free: bool| html! { @if is_free { "yes" } @else { "no" } };
    vec![
        ("Web page", record.url.as_ref().map(web_page)),
        ("Licence", licence),
        ("Archive", record.archive.as_deref().map(shown)),
        ("Keywords", (!record.keywords.is_empty()).then(|| joined(keywords))),
        ("Time covered", record.temporal.map(|temporal| html! { (temporal) })),
        ("Free access", record.free_access.map(is_free)),
        ("Granules", record.granule_url.as_ref().map(granules)),
        ("Name here", Some(named(&record.name))),
        (
            "Former names",
            (!former_names.is_empty()).then(|| joined(former_names.iter().map(named))),
        ),
    ]
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

/// Notices that the history of a dataset was corrected.
pub(super) fn corrections(site: &Site, corrections: &[Correction]) -> Markup {
    html! {
        @for correction in corrections {
            div.notice role="note" {
                p {
                    strong { "The history was corrected" } " on " (date(correction.recorded)) ". "
                    "Citations from before are of "
                    a href=(site.href(&Site::dataset(&correction.kept_as))) { (correction.kept_as) } "."
                }
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
pub(super) fn description(record: &DatasetMetadata) -> Markup {
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
