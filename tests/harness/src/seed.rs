//! The worked example of Curt Tilmes' message, called the seed, which is stored in `fixtures/seed/`.

/// The content of a file in `fixtures/seed/`.
pub fn fixture(file: &str) -> String {
    let path = crate::repository().join("fixtures/seed").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a list of ids.
pub fn ids(file: &str) -> Vec<String> {
    fixture(file).lines().map(str::to_owned).collect()
}

/// The cells of a table, without its header and comments.
pub fn table(file: &str) -> Vec<Vec<String>> {
    fixture(file)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}
