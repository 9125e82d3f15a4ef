//! Which file of `src` uses which, from a scan of the `use` declarations and of the paths in the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::rust_files;

/// The names from the root of the crate to a module, or to an item of one. The modules of the program
/// and of the library have different names, so `crate` is the same root in both.
type Names = Vec<String>;

/// A `use` declaration, or a path in the code.
#[derive(Debug, Clone)]
pub struct Import {
    /// Beginning with `crate`, `super`, `self` or the name of another crate.
    path: Names,
    is_reexport: bool,
}

/// The files of a source tree, and what each of them imports.
pub struct Sources {
    /// The file of each module.
    files: BTreeMap<Names, String>,
    imports: BTreeMap<Names, Vec<Import>>,
    /// The code of each file.
    pub code: BTreeMap<String, String>,
}

impl Sources {
    pub fn of_this_crate() -> Self {
        Sources::of(rust_files(&["src"]))
    }

    /// The files of the Python package, in which `accession` is another crate.
    pub fn of_python() -> Self {
        let files = rust_files(&["python/src"]).into_iter();
        Sources::of(files.map(|(path, text)| (path, text.replace("accession::", "library::"))))
    }

    pub fn of(texts: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let texts = texts.into_iter().map(|(path, text)| (path.to_str().unwrap().to_owned(), text));
        let mut sources =
            Sources { files: BTreeMap::new(), imports: BTreeMap::new(), code: BTreeMap::new() };
        // A file of nothing but tests may use what it tests.
        for (file, text) in texts.filter(|(file, _)| !file.ends_with("/tests.rs")) {
            let code = code(&text);
            let module = module_of(&file);
            sources.imports.entry(module.clone()).or_default().extend(imports(&code));
            sources.files.insert(module, file.clone());
            sources.code.insert(file, code);
        }
        sources
    }

    /// Every file that a file uses, re-exports apart: `mod.rs` re-exports the items of the files beside
    /// it, and these may use the types that `mod.rs` defines.
    pub fn uses(&self) -> BTreeSet<(&str, &str)> {
        let mut uses = BTreeSet::new();
        for (module, imports) in &self.imports {
            let Some(from) = self.files.get(module) else { continue };
            for import in imports.iter().filter(|import| !import.is_reexport) {
                let to = self.file_of(module, &import.path, 0).filter(|to| *to != from.as_str());
                uses.extend(to.map(|to| (from.as_str(), to)));
            }
        }
        uses
    }

    /// Whether a file imports something whose path begins so.
    pub fn imports_from(&self, file: &str, path: &str) -> bool {
        let wanted: Vec<&str> = path.split("::").collect();
        let imports = self.imports.get(&module_of(file)).map(Vec::as_slice).unwrap_or_default();
        imports.iter().any(|import| import.path.iter().take(wanted.len()).eq(wanted.iter()))
    }

    /// Every import of all names of a module.
    pub fn globs(&self) -> Vec<String> {
        let is_ours = |name: &String| ["crate", "super", "self"].contains(&name.as_str());
        let is_glob = |import: &&Import| {
            import.path.last().is_some_and(|name| name == "*") && is_ours(&import.path[0])
        };
        let shown = |(module, imports): (&Names, &Vec<Import>)| -> Vec<String> {
            let globs = imports.iter().filter(is_glob);
            globs.map(|glob| format!("{}: {}", module.join("::"), glob.path.join("::"))).collect()
        };
        self.imports.iter().flat_map(shown).collect()
    }

    /// The file that defines what a path names in a module. `None` means that it is of another crate.
    fn file_of(&self, module: &Names, path: &[String], depth: usize) -> Option<&str> {
        let (mut at, mut rest) = (module.clone(), path);
        let mut is_ours = false;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" | "accession" if !is_ours => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            (rest, is_ours) = (after, true);
        }
        while let Some((first, after)) = rest.split_first() {
            let below = [&at[..], std::slice::from_ref(first)].concat();
            if !self.files.contains_key(&below) {
                break;
            }
            (at, rest, is_ours) = (below, after, true);
        }
        // What the module only re-exports is defined elsewhere.
        let reexport = rest.first().filter(|_| is_ours && depth < 9).and_then(|name| {
            let mut reexports = self.imports.get(&at)?.iter().filter(|import| import.is_reexport);
            reexports.find(|import| import.path.last() == Some(name))
        });
        let definer = reexport.and_then(|import| self.file_of(&at, &import.path, depth + 1));
        definer.or_else(|| self.files.get(&at).filter(|_| is_ours).map(String::as_str))
    }
}

/// `a::b` of `src/a/b.rs` and of `src/a/b/mod.rs`.
fn module_of(file: &str) -> Names {
    let (_, path) = file.split_once("src/").unwrap();
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    let names = path.split('/').filter(|name| *name != "lib");
    names.map(str::to_owned).collect()
}

/// The code without comments, and without the unit tests at its end. What is `super` in an inline module
/// is the file that has it.
fn code(text: &str) -> String {
    let code = text.split("\nmod tests {").next().unwrap();
    let mut is_inside = false;
    let lines = code.lines().map(|line| {
        let line = match line.find("//") {
            Some(at) if !line[..at].contains('"') => &line[..at],
            _ => line,
        };
        is_inside = (is_inside && line != "}") || (line.starts_with("mod ") && line.ends_with('{'));
        if !is_inside {
            return line.to_owned();
        }
        line.replace("super::super", "^").replace("super", "self").replace('^', "super")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The `use` declarations of some code, and the paths in it that begin at this crate.
fn imports(code: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once("use ") {
        let line = before.rsplit('\n').next().unwrap().trim();
        if line.is_empty() || line == "pub" || (line.starts_with("pub(") && line.ends_with(')')) {
            let (tree, after) = after.split_once(';').unwrap();
            let is_reexport = !line.is_empty();
            read(tree, &[], &mut |path| imports.push(Import { path, is_reexport }));
            rest = after;
        } else {
            rest = after;
        }
    }
    let is_of_name = |character: char| character.is_alphanumeric() || "_:".contains(character);
    for (at, _) in
        ["crate::", "super::", "accession::"].iter().flat_map(|start| code.match_indices(start))
    {
        let is_begun = !code[..at].ends_with(is_of_name);
        let path = code[at..].split(|character| !is_of_name(character)).next().unwrap();
        if is_begun && !path.ends_with("::") {
            let path = path.split("::").map(str::to_owned).collect();
            imports.push(Import { path, is_reexport: false });
        }
    }
    imports
}

/// Reads the branches of the tree of a `use`, below an outer path.
fn read(tree: &str, outer: &[String], take: &mut impl FnMut(Names)) {
    let mut depth = 0;
    let branches = tree.split(|character| {
        depth += i32::from(character == '{') - i32::from(character == '}');
        depth == 0 && character == ','
    });
    for branch in branches.map(str::trim).filter(|branch| !branch.is_empty()) {
        let (names, inner) = match branch.split_once('{') {
            Some((names, inner)) => (names, inner.strip_suffix('}')),
            None => (branch.split(" as ").next().unwrap(), None),
        };
        let names = names.split("::").map(str::trim).filter(|name| !name.is_empty());
        let is_own = |name: &&str| *name == "self" && !outer.is_empty();
        let names = names.filter(|name| !is_own(name)).map(str::to_owned);
        let path: Names = outer.iter().cloned().chain(names).collect();
        match inner {
            Some(inner) => read(inner, &path, take),
            None => take(path),
        }
    }
}
