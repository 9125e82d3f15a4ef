//! Changes as an Atom feed (RFC 4287).

use std::collections::BTreeSet;
use std::fmt::Write;

use super::figures::{counted, note, of_files, signed, time_text};
use super::record::title;
use super::site::Site;
use accession::Result;
use accession::Snapshot;
use accession::dataset::DatasetRecord;
use accession::{DatasetName, Instance, Timestamp};

/// The greatest number of changes in a feed.
const ENTRIES: usize = 100;

/// The namespace of the names from which the ids of feeds and entries are computed (RFC 9562, section 5.5). It
/// was drawn at random once.
const NAMESPACE: [u8; 16] = *b"\x6f\x1d\x52\xc3\x0a\x8e\x4b\x27\x9d\x64\x13\x7f\xee\x02\xb9\x58";

/// The latest changes of one dataset, or of all datasets.
#[derive(Debug)]
pub struct Feed {
    /// The title of the subject of the feed.
    title: String,
    /// The name from which the feed's id is computed.
    name: String,
    /// The paths of the feed and of the page about the same subject.
    path: String,
    page: String,
    /// The changes, newest first.
    entries: Vec<FeedEntry>,
}

/// A change.
#[derive(Debug)]
pub struct FeedEntry {
    instance: Instance,
    /// The name from which the entry's id is computed. It does not change when the dataset is renamed or the
    /// site moves.
    name: String,
    /// The title of its dataset.
    title: String,
    author: Option<String>,
}

impl FeedEntry {
    /// The time when the change was recorded or last annotated.
    fn updated(&self) -> Timestamp {
        let noted = self.instance.annotations.iter().map(|annotation| annotation.recorded);
        noted.chain([self.instance.recorded]).max().unwrap_or(self.instance.recorded)
    }
}

impl Feed {
    /// The latest 100 changes of a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn of_dataset(snapshot: &Snapshot, name: &DatasetName) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        Ok(Feed {
            title: title(&listed.dataset),
            name: snapshot.lasting_name(name)?,
            path: Site::feed(name),
            page: Site::dataset(name),
            entries: entries(snapshot, &listed)?,
        })
    }

    /// The latest change of each of these datasets on each day, at most 100 changes.
    ///
    /// # Errors
    ///
    /// The registry cannot be read.
    pub fn of_all(
        snapshot: &Snapshot,
        site: &Site,
        mut datasets: Vec<DatasetRecord>,
    ) -> Result<Self> {
        let latest = |listed: &DatasetRecord| listed.latest.as_ref().map(|latest| latest.timestamp);
        datasets.sort_by_key(|listed| std::cmp::Reverse(latest(listed)));
        let mut newest: Vec<FeedEntry> = Vec::new();
        for listed in &datasets {
            // Datasets whose latest change is older than all of these get no entry.
            let last = newest.get(ENTRIES - 1).map(|entry| entry.instance.timestamp);
            if latest(listed) < last || latest(listed).is_none() {
                break;
            }
            // Only the latest change recorded on a day: a dataset that changes every minute, or whose history
            // was imported, would leave no room for others.
            let mut days = BTreeSet::new();
            let mut of_days = entries(snapshot, listed)?;
            of_days.retain(|entry| days.insert(entry.instance.recorded.day()));
            newest.extend(of_days);
            newest.sort_by_key(|entry| std::cmp::Reverse(entry.instance.timestamp));
            newest.truncate(ENTRIES);
        }
        Ok(Feed {
            title: site.name.clone(),
            name: site.public_url.clone().unwrap_or_else(|| site.name.clone()),
            path: Site::FEED.to_owned(),
            page: "/".to_owned(),
            entries: newest,
        })
    }

    /// The feed as XML.
    pub fn atom(&self, site: &Site) -> String {
        let updated = self.entries.iter().map(FeedEntry::updated).max().unwrap_or(Timestamp::EPOCH);
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <title>Changes of {}</title>\n<id>{}</id>\n<updated>{updated}</updated>\n\
             <link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>\n\
             <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n\
             <author><name>{}</name></author>\n<generator version=\"{}\">accession</generator>\n",
            escaped(&self.title),
            urn(&format!("feed {}", self.name)),
            escaped(&site.address_or_href(&self.path)),
            escaped(&site.address_or_href(&self.page)),
            escaped(&site.name),
            env!("CARGO_PKG_VERSION"),
        );
        for entry in &self.entries {
            let FeedEntry { instance, title, .. } = entry;
            let page = match site.is_complete() {
                true => Site::instance(&instance.dataset, instance.timestamp),
                false => Site::dataset(&instance.dataset),
            };
            let _ = write!(
                xml,
                "<entry>\n<title>{}: {}</title>\n<id>{}</id>\n<published>{}</published>\n\
                 <updated>{}</updated>\n<link href=\"{}\"/>\n<author><name>{}</name></author>\n\
                 <content type=\"text\">{}</content>\n</entry>\n",
                escaped(title),
                sides(instance),
                urn(&entry.name),
                instance.timestamp,
                entry.updated(),
                escaped(&site.address_or_href(&page)),
                escaped(entry.author.as_deref().unwrap_or(&site.name)),
                escaped(&content(instance)),
            );
        }
        xml.push_str("</feed>\n");
        xml
    }
}

/// The latest changes of a dataset, newest first.
fn entries(snapshot: &Snapshot, listed: &DatasetRecord) -> Result<Vec<FeedEntry>> {
    let name = &listed.dataset.name;
    let lasting_name = snapshot.lasting_name(name)?;
    let instances = snapshot.instances_before(name, None, ENTRIES as u32)?;
    let entry = |instance: Instance| FeedEntry {
        name: format!("{lasting_name} {}", instance.timestamp),
        title: title(&listed.dataset),
        author: listed.dataset.publisher.clone(),
        instance,
    };
    Ok(instances.into_iter().map(entry).collect())
}

/// The text of an entry.
fn content(instance: &Instance) -> String {
    let mut text = format!(
        "{} held since {}: DI:{}.",
        counted(instance.granules, "granule"),
        time_text(instance.timestamp),
        instance.identifier
    );
    if let Some(own) = &instance.note {
        let _ = write!(text, " {}", note(own));
    }
    for annotation in &instance.annotations {
        let mark = if annotation.questionable { "Questionable: " } else { "Noted later: " };
        let _ = write!(text, " {mark}{}", note(&annotation.note));
    }
    text
}

/// Computes an id from a name: a UUID of version 5.
fn urn(name: &str) -> String {
    use sha1::{Digest, Sha1};
    let digest = Sha1::new_with_prefix(NAMESPACE).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = hex::encode(bytes);
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("urn:uuid:{}", parts.join("-"))
}

/// The numbers of granules that a change added, deleted, and changed the files of: `+288 −2, 3 replaced`.
pub(super) fn sides(instance: &Instance) -> String {
    let names = signed(instance.ingested, instance.deleted);
    match (of_files(instance), instance.ingested + instance.deleted) {
        (Some(files), 0) => files,
        (Some(files), _) => format!("{names}, {files}"),
        (None, _) => names,
    }
}

/// Escapes a text for an element or an attribute. Characters that XML cannot contain are replaced.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character if character.is_control() && character != '\n' => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_5() {
        let id = urn("2001-01-02T00:00:00Z A");
        assert_eq!(id.len(), "urn:uuid:".len() + 36);
        assert_eq!((&id[23..24], id.as_bytes()[28]), ("5", id.as_bytes()[28]));
        assert!(matches!(id.as_bytes()[28], b'8' | b'9' | b'a' | b'b'), "{id}");
        assert_eq!(id, urn("2001-01-02T00:00:00Z A"));
        assert_ne!(id, urn("2001-01-02T00:00:00Z B"));
    }

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escaped("</title>\u{0}\"&\u{ffff}"), "&lt;/title&gt; &quot;&amp;\u{fffd}");
    }
}
