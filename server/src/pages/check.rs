//! The page that checks pasted citations.

use maud::{Markup, html};
use serde::Serialize;

use super::figures::{annotations, counted, identifier as code, time, until, visible};
use super::layout::{PageHead, Section, page};
use super::site::Site;
use accession::citation::{CitationVerdict, CitedSet};

/// The form for pasted citations, and the verdicts on them.
#[derive(Debug, Default)]
pub struct CheckPage {
    /// The pasted text. Empty at first.
    pub text: String,
    /// The verdict on each citation, in order.
    pub quoted: Vec<Quoted>,
    /// The cited sets, each with its citations.
    pub sets: Vec<CitedSet>,
    /// The reason why the text cannot be checked. `None` means that it can.
    pub problem: Option<String>,
}

/// The verdict on a citation.
#[derive(Debug, Serialize)]
pub struct Quoted {
    /// The verdict, with some of its intervals.
    #[serde(flatten)]
    pub verdict: CitationVerdict,
    /// The number of all intervals in which the set was in force.
    pub interval_count: u64,
}

impl CheckPage {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = PageHead {
            title: "Check citations".into(),
            description: Some("Checks citations with identifiers of granule sets.".into()),
            section: Section::Check,
            is_unlisted: self.is_checked(),
            ..PageHead::default()
        };
        page(site, &head, &self.main(site))
    }

    fn main(&self, site: &Site) -> Markup {
        html! {
            div.head {
                h1 { "Check citations" }
                p.lead {
                    "Paste references in any form: sentences, BibTeX, RIS, JSON, or tuples such as "
                    code { "{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:7631… }" }
                    ". Each is compared with what was held on its date."
                }
            }
            @if self.is_checked() { (self.results(site)) }
            form.text action=(site.href("/check")) method="post" {
                label for="text" { @if self.is_checked() { "Check others" } @else { "Citations" } }
                textarea #text name="text" rows="8" required spellcheck="false"
                    aria-describedby=[self.problem.as_ref().map(|_| "problem")]
                    aria-invalid=[self.problem.as_ref().map(|_| "true")] { (self.text) }
                @if let Some(problem) = &self.problem { p.problem #problem role="alert" { (visible(problem)) } }
                button.main type="submit" { "Check" }
            }
        }
    }

    /// Whether citations were checked.
    fn is_checked(&self) -> bool {
        !self.quoted.is_empty()
    }

    fn results(&self, site: &Site) -> Markup {
        let wrong = self.quoted.iter().filter(|quoted| !quoted.verdict.ok).count();
        html! {
            section #results aria-label="Results" {
                p.verdict-summary role="status" {
                    @if wrong == 0 {
                        strong.plus { (counted(self.quoted.len() as u64, "citation")) ": nothing to object to" }
                    } @else {
                        strong.minus { (wrong) " of " (counted(self.quoted.len() as u64, "citation")) " cannot be confirmed" }
                    }
                }
                ol.verdicts { @for quoted in &self.quoted { li { (verdict(site, quoted)) } } }
                @for set in self.sets.iter().filter(|set| set.citations.len() > 1) {
                    p { "Citations " (numbers(&set.citations)) " are of the same " (counted(set.granules, "granule")) "." }
                }
            }
        }
    }
}

fn numbers(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    match texts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn verdict(site: &Site, quoted: &Quoted) -> Markup {
    let Quoted { verdict, interval_count } = quoted;
    html! {
        p.verdict {
            @if verdict.ok && verdict.date.is_some() && verdict.agrees.is_none() {
                span.state.plus { "known" }
            }
            @else if verdict.ok { span.state.plus { "confirmed" } }
            @else if verdict.is_questionable { span.state.warn { "questionable" } }
            @else if verdict.known { span.state.minus { "disagrees" } }
            @else { span.state.warn { "unknown" } }
            @if let Some(identifier) = verdict.identifier {
                " "
                @if verdict.known { a href=(site.href(&Site::set(identifier))) { (code(identifier)) } }
                @else { (code(identifier)) }
            }
            @if let Some(date) = &verdict.date { " " span.soft { (visible(date)) } }
        }
        @match verdict.problem.as_deref() {
            Some(CitationVerdict::NO_IDENTIFIER) => p.problem {
                "It cites a dataset that changes, without the identifier of the granules that were used"
                @if let Some(doi) = &verdict.doi { ": " a href=(site.href(&Site::doi(doi))) { "doi:" (doi) } }
            },
            Some(problem) => p.problem { (visible(problem)) },
            None => {},
        }
        @if let Some(note) = &verdict.note { p.note { (visible(note)) } }
        @if !verdict.intervals.rows.is_empty() {
            ul.intervals {
                @for resolved in &verdict.intervals.rows {
                    @let instance = resolved.set.instance();
                    li {
                        a.where href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
                            (instance.dataset)
                        }
                        ": " (time(resolved.from()))
                        @match resolved.withdrawn.as_ref().filter(|_| resolved.until().is_none()) {
                            Some(withdrawn) => { " until it was withdrawn on " (time(withdrawn.timestamp)) },
                            None => { " to " (until(resolved.until())) },
                        }
                        " "
                        (annotations(&instance.annotations))
                    }
                }
                @let others = interval_count - verdict.intervals.rows.len() as u64;
                @if others > 0 { li { "and " (counted(others, "other period")) } }
            }
        }
    }
}
