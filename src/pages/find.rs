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
            section: Section::Find,
            is_unlisted: self.periods.is_some(),
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        html! {
            div.masthead {
                h1 { "Find a granule" }
                p.lead { "Which datasets held a granule, and when. The whole id is needed, exactly as it is written." }
            }
            form.search action=(site.href("/find")) method="get" {
                label for="granule" { "Granule id" }
                div.field {
                    input #granule type="text" name="granule" value=(self.granule) required
                        autocomplete="off" spellcheck="false"
                        aria-describedby=[self.problem.as_ref().map(|_| "problem")]
                        aria-invalid=[self.problem.as_ref().map(|_| "true")];
                    button type="submit" { "Find" }
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
                    h2 { "Held" }
                    ul.intervals {
                        @for period in periods {
                            li {
                                a.where href=(site.href(&Site::dataset(&period.dataset))) { (period.dataset) }
                                span.when {
                                    a href=(site.href(&Site::instance(&period.dataset, period.ingested))) {
                                        (time(period.ingested))
                                    }
                                    " to "
                                    @match period.deleted {
                                        Some(deleted) => {
                                            a href=(site.href(&Site::instance(&period.dataset, deleted))) { (time(deleted)) }
                                        },
                                        None => strong.now { "now" },
                                    }
                                }
                            }
                        }
                    }
                    @if self.has_more { p.quiet { "There are more: the list as JSON has all of them." } }
                }
            }
        }
    }
}
