//! Where a granule was held.

use maud::{Markup, html};

use super::figures::{time, visible};
use super::layout::{Head, Section, page};
use super::site::Site;
use crate::registry::FoundPeriod;

/// The form for a granule id, and where the granule was held.
#[derive(Debug, Default)]
pub struct FindPage {
    /// The id that was asked for. Empty at first.
    pub granule: String,
    /// The first periods in which it was held. `None` means that nothing was asked for.
    pub periods: Option<Vec<FoundPeriod>>,
    /// Whether there are further periods.
    pub has_more: bool,
    /// Why the id cannot be looked up. `None` means that it can.
    pub problem: Option<String>,
}

impl FindPage {
    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = Head {
            title: "Find a granule".into(),
            description: Some("Which datasets held a granule, and when.".into()),
            section: Section::Find,
            is_unlisted: self.periods.is_some(),
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        html! {
            div.head {
                h1 { "Find a granule" }
                p.lead {
                    "Which datasets held a granule, and when. The whole name is needed, exactly as it is written, or its \
                     beginning and a " code { "*" } "."
                }
            }
            form.text action=(site.href("/find")) {
                label for="granule" { "Name of the granule" }
                div.field {
                    input #granule type="text" name="granule" value=(self.granule) required
                        autocomplete="off" spellcheck="false"
                        aria-describedby=[self.problem.as_ref().map(|_| "problem")]
                        aria-invalid=[self.problem.as_ref().map(|_| "true")];
                    " " button.main { "Find" }
                }
                @if let Some(problem) = &self.problem { p.problem #problem role="alert" { (visible(problem)) } }
            }
            @if let Some(periods) = &self.periods { (self.results(site, periods)) }
        }
    }

    fn results(&self, site: &Site, periods: &[FoundPeriod]) -> Markup {
        html! {
            section #results aria-label="Results" {
                @if periods.is_empty() {
                    p.empty role="status" { "No dataset here ever held " code { (visible(&self.granule)) } "." }
                } @else {
                    table.rows {
                        thead {
                            tr {
                                th scope="col" { "Granule" }
                                th scope="col" { "Dataset" }
                                th scope="col" { "Held from" }
                                th scope="col" { "Until" }
                            }
                        }
                        tbody { @for period in periods { (row(site, period)) } }
                    }
                    @if self.has_more {
                        p.small.soft { "These are the first " (periods.len()) " periods: the list as JSON has all of them." }
                    }
                }
            }
        }
    }
}

fn row(site: &Site, period: &FoundPeriod) -> Markup {
    let at = |at| site.href(&Site::instance(&period.dataset, at));
    html! {
        tr {
            td.fill {
                @match &period.url {
                    Some(url) => { a href=(url) rel="nofollow" { code { (visible(period.granule.as_str())) } } },
                    None => code { (visible(period.granule.as_str())) },
                }
            }
            th scope="row" {
                a href=(site.href(&Site::dataset(&period.dataset))) { (period.dataset) }
                @if period.withdrawn.is_some() { " " b.warn { "withdrawn" } }
            }
            td.when { i.u { "from " } a href=(at(period.ingested)) { (time(period.ingested)) } }
            td.when {
                i.u { "until " }
                @match period.deleted {
                    Some(deleted) => { a href=(at(deleted)) { (time(deleted)) } },
                    None => b.plus { "now" },
                }
            }
        }
    }
}
