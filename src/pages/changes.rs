//! A list of changes.

use maud::{Markup, html};

use super::figures::{change, grouped, note, time};
use super::site::Site;
use crate::model::Instance;

/// The changes, each with the set that it resulted in and its note.
pub(super) fn list(site: &Site, instances: &[Instance]) -> Markup {
    html! {
        ol.changes {
            @for instance in instances {
                li {
                    span.when {
                        @if site.is_complete() {
                            a href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
                                (time(instance.timestamp))
                            }
                        } @else { (time(instance.timestamp)) }
                    }
                    code.id { (instance.identifier) }
                    span.held { (grouped(instance.granules)) span.unit { " held" } }
                    span.change { (change(instance.ingested, instance.deleted)) }
                    @if let Some(text) = &instance.note { span.note { (note(text)) } }
                }
            }
        }
    }
}
