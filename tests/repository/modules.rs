//! The modules of the source tree, and the items of other files that each file uses.
//!
//! A path such as `crate::Foo` or `super::Foo` is followed through re-exports, renamings and globs
//! to the file that defines `Foo`. Paths in macros and in unit tests count as well.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::{is_name, tokens};

/// The path of a module: first the root (the library's name, or `main`), then the modules' names.
type ModulePath = Vec<String>;

/// The name of the library's root module.
const LIBRARY: &str = "accession";

/// One file's use of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub from: String,
    pub to: String,
    /// The path as it is written.
    pub path: String,
    /// Whether the file only re-exports the name (`pub use`) and does not use it itself.
    pub is_reexport: bool,
}

/// All modules of a source tree.
pub struct Modules(BTreeMap<ModulePath, Module>);

#[derive(Default)]
struct Module {
    file: String,
    /// The names that it defines, except its child modules.
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// The code without the imports and without inline modules.
    code: Vec<String>,
}

/// A `use` declaration of one name, or of all names of a module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    /// The module that has the declaration.
    within: ModulePath,
    path: Vec<String>,
    /// The name that it binds; `None` means all (`*`).
    name: Option<String>,
    is_public: bool,
}

impl Modules {
    /// Reads the modules of `src/lib.rs` and `src/main.rs`, given the text of each file by its
    /// path.
    pub fn of(files: &BTreeMap<String, String>) -> Self {
        let mut modules = Modules(BTreeMap::new());
        for (root, file) in [(LIBRARY, "src/lib.rs"), ("main", "src/main.rs")] {
            if let Some(text) = files.get(file) {
                modules.read(vec![root.to_owned()], file, tokens(text), files);
            }
        }
        let known: BTreeSet<&String> = modules.0.values().map(|module| &module.file).collect();
        let unknown: Vec<_> = files.keys().filter(|file| !known.contains(file)).collect();
        assert!(unknown.is_empty(), "no `mod` declares {unknown:?}");
        modules
    }

    fn read(
        &mut self,
        path: ModulePath,
        file: &str,
        tokens: Vec<String>,
        files: &BTreeMap<String, String>,
    ) {
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let (mut at, mut depth) = (0, 0);
        while at < tokens.len() {
            let next = |ahead: usize| tokens.get(at + ahead).map_or("", String::as_str);
            let is_declared = depth == 0 && is_name(next(1));
            match next(0) {
                "mod" if is_declared && next(2) == ";" => {
                    let child: ModulePath = [&path[..], &[next(1).to_owned()]].concat();
                    let file = child_file(&child, files);
                    self.read(child, &file, crate::tokens::tokens(&files[&file]), files);
                    at += 3;
                    continue;
                }
                "mod" if is_declared && next(2) == "{" => {
                    let child = [&path[..], &[next(1).to_owned()]].concat();
                    let end = closing_brace(&tokens, at + 2);
                    self.read(child, file, tokens[at + 3..end].to_vec(), files);
                    at = end + 1;
                    continue;
                }
                // `use<'a>` in a type is not an import.
                "use" if next(1) != "<" => {
                    let is_public = is_public(&tokens[..at]);
                    let end = at + tokens[at..].iter().position(|token| token == ";").unwrap();
                    let outer =
                        Import { within: path.clone(), path: vec![], name: None, is_public };
                    read_imports(&tokens[at + 1..end], &outer, &mut module.imports);
                    at = end + 1;
                    continue;
                }
                "struct" | "enum" | "trait" | "type" | "fn" | "static" | "const" if is_declared => {
                    // `const fn name` is read again at its `fn`.
                    module.items.insert(next(1).to_owned());
                }
                "macro_rules" if next(1) == "!" => {
                    module.items.insert(next(2).to_owned());
                }
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            module.code.push(tokens[at].clone());
            at += 1;
        }
        self.0.insert(path, module);
    }

    /// Every use of one file by another, and every path that cannot be resolved.
    pub fn uses(&self) -> (BTreeSet<Use>, Vec<String>) {
        let (mut uses, mut unresolved) = (BTreeSet::new(), Vec::new());
        for (path, module) in &self.0 {
            let imports =
                module.imports.iter().map(|import| (import.path.clone(), import.is_public));
            let written = module.paths_in_code().into_iter().map(|written| (written, false));
            for (written, is_reexport) in imports.chain(written) {
                match self.resolve(path, &written) {
                    Some(definer) if self.0[&definer].file != module.file => {
                        uses.insert(Use {
                            from: module.file.clone(),
                            to: self.0[&definer].file.clone(),
                            path: written.join("::"),
                            is_reexport,
                        });
                    }
                    Some(_) => {}
                    None if is_of_this_crate(&written) => {
                        unresolved.push(format!("{}: {}", module.file, written.join("::")));
                    }
                    None => {}
                }
            }
        }
        (uses, unresolved)
    }

    /// Every glob import of a module of this crate, outside unit tests.
    pub fn globs(&self) -> Vec<String> {
        let mut globs = Vec::new();
        for (path, module) in &self.0 {
            if path.iter().any(|name| name == "tests") {
                continue;
            }
            for import in module.imports.iter().filter(|import| import.name.is_none()) {
                if self.resolve(path, &import.path).is_some() {
                    globs.push(format!("{}: {}::*", module.file, import.path.join("::")));
                }
            }
        }
        globs
    }

    /// The module that defines the item which a path names in a module; for the path of a module,
    /// that module.
    ///
    /// `None` means that the path names an item of another crate, or cannot be resolved.
    fn resolve(&self, from: &ModulePath, path: &[String]) -> Option<ModulePath> {
        self.follow(from, path, &mut BTreeSet::new())
    }

    /// As [`Modules::resolve`], but follows no import twice.
    fn follow(
        &self,
        from: &ModulePath,
        path: &[String],
        followed: &mut BTreeSet<Import>,
    ) -> Option<ModulePath> {
        let (mut start, mut rest) = (from.clone(), path);
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "crate" => start.truncate(1),
                "self" => {}
                "super" => drop(start.pop()),
                _ => break,
            }
            rest = after;
        }
        let found = self.find(&start, rest, followed);
        if found.is_some() || rest.len() < path.len() || path.first()? != LIBRARY {
            return found;
        }
        self.find(&vec![LIBRARY.to_owned()], &path[1..], followed)
    }

    /// The module that defines the item which a path names, if the path begins with a name of a
    /// module.
    fn find(
        &self,
        module_path: &ModulePath,
        path: &[String],
        followed: &mut BTreeSet<Import>,
    ) -> Option<ModulePath> {
        let module = self.0.get(module_path)?;
        let Some((name, rest)) = path.split_first() else { return Some(module_path.clone()) };
        let child = [&module_path[..], std::slice::from_ref(name)].concat();
        if self.0.contains_key(&child) {
            return self.find(&child, rest, followed);
        }
        if module.items.contains(name) {
            return Some(module_path.clone());
        }
        for import in &module.imports {
            let is_glob = import.name.is_none();
            if !(is_glob || import.name.as_ref() == Some(name)) || !followed.insert(import.clone())
            {
                continue;
            }
            let target = if is_glob {
                let source = self.follow(module_path, &import.path, followed);
                source.and_then(|source| self.find(&source, path, followed))
            } else {
                self.follow(module_path, &[&import.path[..], rest].concat(), followed)
            };
            if target.is_some() {
                return target;
            }
        }
        None
    }
}

impl Module {
    /// The paths of more than one name in the code, and the names that a `pub use` binds and that
    /// the code uses itself.
    fn paths_in_code(&self) -> Vec<Vec<String>> {
        let is_reexported = |name: &String| {
            let mut imports = self.imports.iter().filter(|import| import.is_public);
            imports.any(|import| import.name.as_ref() == Some(name))
        };
        let token = |at: usize| self.code.get(at).map_or("", String::as_str);
        let (mut paths, mut at) = (Vec::new(), 0);
        while at < self.code.len() {
            let begins = is_name(token(at)) && (at == 0 || ![".", "::"].contains(&token(at - 1)));
            let mut path = vec![self.code[at].clone()];
            at += 1;
            while begins && token(at) == "::" && is_name(token(at + 1)) {
                path.push(self.code[at + 1].clone());
                at += 2;
            }
            // `name: value` is a field.
            if begins && (path.len() > 1 || (is_reexported(&path[0]) && token(at) != ":")) {
                paths.push(path);
            }
        }
        paths
    }
}

fn is_of_this_crate(path: &[String]) -> bool {
    ["crate", "super", LIBRARY].contains(&path[0].as_str())
}

fn child_file(module: &ModulePath, files: &BTreeMap<String, String>) -> String {
    let path = format!("src/{}", module[1..].join("/"));
    let file = format!("{path}.rs");
    if files.contains_key(&file) { file } else { format!("{path}/mod.rs") }
}

fn closing_brace(tokens: &[String], opening: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(opening) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a brace is not closed");
}

/// Whether the tokens before a declaration end with `pub` or `pub(…)`.
fn is_public(before: &[String]) -> bool {
    match before.last().map(String::as_str) {
        Some("pub") => true,
        Some(")") => {
            let open = before.iter().rposition(|token| token == "(");
            open.is_some_and(|open| open > 0 && before[open - 1] == "pub")
        }
        _ => false,
    }
}

/// Reads one branch, or several separated by commas, of the tree of a `use`, below an outer path.
fn read_imports(tree: &[String], outer: &Import, imports: &mut Vec<Import>) {
    for branch in branches(tree) {
        let mut import = outer.clone();
        let mut tokens = branch.iter().enumerate();
        let name = loop {
            match tokens.next() {
                None => break import.path.last().cloned(),
                Some((_, separator)) if separator == "::" => {}
                Some((_, all)) if all == "*" => break None,
                Some((_, rename)) if rename == "as" => break branch.last().cloned(),
                Some((at, brace)) if brace == "{" => {
                    read_imports(&branch[at + 1..branch.len() - 1], &import, imports);
                    break Some(String::new());
                }
                // Within braces, `self` is the outer path.
                Some((0, own)) if own == "self" && !outer.path.is_empty() => {}
                Some((_, name)) => import.path.push(name.clone()),
            }
        };
        // The branch with braces has no name of its own.
        if name.as_deref() != Some("") {
            imports.push(Import { name, ..import });
        }
    }
}

/// The branches of a `use` tree, which are separated by commas outside braces.
fn branches(tree: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    let is_comma = |token: &String| {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth == 0 && token == ","
    };
    tree.split(is_comma).filter(|branch| !branch.is_empty()).collect()
}
