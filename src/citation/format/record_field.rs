//! The fields of a record that a complete citation needs.

/// A field of a dataset's record that a complete citation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordField {
    /// The DOI.
    Doi,
    /// The title. Without one, a citation prints the name of the dataset.
    Title,
    /// The creators.
    Creators,
    /// The publisher.
    Publisher,
    /// The version.
    Version,
    /// The year of publication.
    Year,
}
