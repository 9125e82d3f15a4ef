//! What the pages of a published directory say about their site, which is kept in the directory.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use super::place::text_in;
use crate::disk::Directory;
use crate::model::Timestamp;
use crate::pages::{Serves, Site};
use crate::registry::Edit;

const FILE: &str = ".accession-publish.json";

/// The version that is written, and the greatest that is read.
const VERSION: u64 = 1;

/// What the pages say about their site. What is kept is what an earlier run was given.
#[derive(Debug, Clone, Default)]
pub struct SiteSettings {
    /// The address at which readers reach the directory, without the slash at its end.
    pub public_url: Edit<String>,
    /// The name of the site. Without one, it is [`Site::DEFAULT_NAME`].
    pub name: Edit<String>,
    /// How to reach the people who run it.
    pub contact: Edit<String>,
}

/// What is kept in the directory.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    accession_publish: u64,
    pub public_url: Option<String>,
    site_name: Option<String>,
    contact: Option<String>,
    /// When the pages were written: they say what is to be cited at that time.
    written: Option<String>,
}

impl Kept {
    /// What the directory keeps. `None` means that no pages were published into it.
    pub fn read(root: &Directory) -> Result<Option<Self>> {
        let Some(text) = text_in(root, FILE)? else { return Ok(None) };
        let damaged = |what| Error::Damaged { path: root.path_of(FILE), line: None, what };
        let kept: Kept = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match kept.accession_publish {
            ..=VERSION => Ok(Some(kept)),
            found => Err(damaged(format!("it has version {found}, this program reads {VERSION}"))),
        }
    }

    /// What is kept after a run with these settings.
    pub fn with(&self, given: &SiteSettings, now: Timestamp) -> Self {
        let of = |kept: &Option<String>, given: &Edit<String>| match given {
            Edit::Keep => kept.clone(),
            Edit::Clear => None,
            Edit::Set(value) => Some(value.clone()),
        };
        Kept {
            accession_publish: VERSION,
            public_url: of(&self.public_url, &given.public_url),
            site_name: of(&self.site_name, &given.name),
            contact: of(&self.contact, &given.contact),
            written: Some(now.to_string()),
        }
    }

    /// When the pages were written.
    pub fn written(&self) -> Option<Timestamp> {
        self.written.as_ref()?.parse().ok()
    }

    pub fn write(&self, root: &Directory) -> Result<()> {
        let text = serde_json::to_string(self);
        let text = text.map_err(|error| Error::file("write", &root.path_of(FILE), error.into()))?;
        Ok(root.replace(FILE, |file| {
            writeln!(file, "{text}")?;
            file.sync_data()
        })?)
    }

    /// The site whose pages are so many directories below its root.
    pub fn site(&self, depth: usize) -> Site {
        Site {
            name: self.site_name.clone().unwrap_or_else(|| Site::DEFAULT_NAME.to_owned()),
            contact: self.contact.clone(),
            public_url: self.public_url.clone(),
            serves: Serves::Files { depth },
        }
    }
}
