//! The structure of the crate: the dependencies between modules, folders and files, and the names
//! of types. The sources are parsed with `syn`. Tests in the sources are ignored.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Expr, ExprMethodCall, File, ImplItemFn, Item, ItemImpl, ItemMod, Macro, TraitItemFn,
    Type, UseTree, Visibility, ext::IdentExt, visit::Visit,
};

/// `module → the modules that it may use`. `lib.rs` only declares modules.
const MODULE_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("offload", &[]),
    ("private", &[]),
    ("config", &["error"]),
    ("policy", &["config", "error", "offload"]),
    ("engine", &["config", "error", "offload"]),
    ("files", &["policy", "private", "config", "error", "offload"]),
    ("page", &["files", "engine", "policy", "config", "error", "offload"]),
    ("store", &["private", "policy", "config", "error", "offload"]),
    ("upstream", &["private", "engine", "policy", "config", "error", "offload"]),
    (
        "session",
        &["upstream", "store", "page", "files", "engine", "policy", "config", "error", "offload"],
    ),
    (
        "tools",
        &[
            "session", "upstream", "store", "page", "files", "engine", "policy", "config", "error",
            "offload",
        ],
    ),
    ("server", &["tools", "session", "upstream", "page", "config", "error", "offload"]),
    ("export", &["tools", "store", "policy", "config"]),
    (
        "dashboard",
        &["export", "tools", "session", "store", "page", "engine", "config", "error", "offload"],
    ),
    (
        "transport",
        &[
            "private",
            "dashboard",
            "server",
            "tools",
            "session",
            "upstream",
            "config",
            "error",
            "offload",
        ],
    ),
    (
        "cli",
        &[
            "private",
            "transport",
            "server",
            "export",
            "tools",
            "store",
            "files",
            "engine",
            "policy",
            "config",
            "error",
            "offload",
        ],
    ),
    (
        "node",
        &[
            "cli",
            "transport",
            "server",
            "tools",
            "session",
            "store",
            "engine",
            "config",
            "error",
            "offload",
        ],
    ),
];

/// `crate → the only modules that may use it`.
const RESTRICTED_CRATES: &[(&str, &[&str])] = &[
    ("napi", &["node"]),
    ("napi_derive", &["node"]),
    ("rmcp", &["server", "transport"]),
    ("axum", &["transport"]),
    ("clap", &["cli"]),
    ("rquickjs", &["tools/sandbox"]),
    ("rusqlite", &["store/sqlite"]),
    ("tokio_postgres", &["store/postgres"]),
    ("deadpool_postgres", &["store/postgres"]),
    ("object_store", &["files"]),
    ("chromiumoxide", &["engine/chromium", "engine/install"]),
    ("thirtyfour", &["engine/webkit"]),
];

/// `folder of page → the folders that it may use`. Applies to imports and to calls of the methods
/// of `Page`, which each folder extends.
const PAGE_FOLDERS: &[(&str, &[&str])] = &[
    ("state", &[]),
    ("script", &["state"]),
    ("query", &["script", "state"]),
    ("read", &["query", "script", "state"]),
    ("act", &["read", "query", "script", "state"]),
    ("resume", &["act", "read", "query", "script", "state"]),
];

/// Imports that stay although they are part of a cycle: `(folder, file, imported file, reason)`.
const ACCEPTED_CYCLES: &[(&str, &str, &str, &str)] = &[
    (
        "engine/webkit",
        "windows",
        "page",
        "polls the pages, which register their dialogs and downloads",
    ),
    (
        "upstream",
        "supervisor",
        "upstreams",
        "uses the command and the ports that all sessions share",
    ),
    ("tools", "answer", "tool", "a result with a snapshot needs the page of its call"),
    ("tools", "batch", "registry", "runs other tools"),
    ("tools", "script", "registry", "runs other tools"),
    ("tools", "recorder", "registry", "looks up the row of a recorded call"),
    ("tools", "screenshots", "record", "finds the call that took a screenshot"),
    ("tools", "screenshots", "registry", "looks up which tools return screenshots"),
    ("tools", "suggestions", "registry", "recognizes the names of tools in a suggestion"),
    ("tools", "tool", "user_question", "a call contains the handler of questions to the user"),
    ("tools", "tool", "playwright", "a row can contain a function of the Playwright set"),
    ("tools/playwright", "call", "response", "runs a tool and renders its response"),
    ("tools/playwright", "call", "state", "a call contains the state of its session"),
    ("tools/playwright", "response", "console", "a response lists new console messages"),
    ("tools/playwright", "state", "response", "contains the last header of each page"),
    ("tools/playwright", "state", "routes", "contains the routes of the session"),
];

/// A source file.
struct Source {
    /// The path of its module: `["engine", "webkit"]` for `engine/webkit/mod.rs`.
    module: Vec<String>,
    syntax: File,
}

impl Source {
    fn name(&self) -> String {
        self.module.join("/")
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Parses the files of `src`, except `lib.rs` and the files of tests.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    let parse = |file: PathBuf| {
        let path = file.strip_prefix(&root).unwrap_or(&file).with_extension("");
        let mut module: Vec<String> =
            path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        module.pop_if(|name| name == "mod");
        let code = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let syntax = syn::parse_file(&code);
        Source { module, syntax: syntax.unwrap_or_else(|error| panic!("{path:?}: {error}")) }
    };
    let sources: Vec<Source> = files.into_iter().map(parse).collect();
    assert!(sources.len() > 300, "too few source files were found");
    let tests: Vec<Vec<String>> = sources
        .iter()
        .flat_map(|source| {
            let items = source.syntax.items.iter();
            items.filter(|item| is_test(attributes(item))).filter_map(|item| match item {
                Item::Mod(module) => Some([&*source.module, &[module.ident.to_string()]].concat()),
                _ => None,
            })
        })
        .collect();
    let is_test = |source: &Source| tests.iter().any(|test| source.module.starts_with(test));
    let is_kept = |source: &Source| source.module != ["lib"] && !is_test(source);
    sources.into_iter().filter(is_kept).collect()
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether the attributes contain `#[cfg(test)]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The names that a file refers to, and the methods that it declares and calls.
#[derive(Default)]
struct References {
    /// The module of the visited item. Its last names can be modules within the file.
    module: Vec<String>,
    /// Absolute paths from the root of the crate.
    paths: BTreeSet<Vec<String>>,
    /// `name → absolute path` of each imported name.
    imported: BTreeMap<String, Vec<String>>,
    /// First names of paths that are not absolute: crates, child modules or imported names.
    roots: BTreeSet<Vec<String>>,
    /// Whether the visited item is in an `impl` block of the type `Page`.
    is_in_page: bool,
    page_methods: BTreeSet<String>,
    /// Methods that are called on `self` in the `impl` blocks of `Page`.
    page_calls: BTreeSet<String>,
}

impl References {
    fn of(source: &Source) -> Self {
        let mut references = Self { module: source.module.clone(), ..Self::default() };
        references.visit_file(&source.syntax);
        references
    }

    /// Converts a path that begins with `crate`, `super` or `self`, into an absolute one.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut absolute = match &**path.first()? {
            "crate" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        for name in path {
            match &**name {
                "crate" | "self" => {}
                "super" => {
                    absolute.pop();
                }
                name => absolute.push(name.to_owned()),
            }
        }
        Some(absolute)
    }

    fn add(&mut self, path: Vec<String>) -> Vec<String> {
        if let Some(absolute) = self.absolute(&path) {
            self.paths.insert(absolute.clone());
            return absolute;
        }
        self.roots.insert(path.clone());
        path
    }

    fn add_tree(&mut self, tree: &UseTree, prefix: &[String]) {
        let join = |name: &syn::Ident| [prefix, &[name.unraw().to_string()]].concat();
        match tree {
            UseTree::Path(tree) => self.add_tree(&tree.tree, &join(&tree.ident)),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, prefix);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                self.import(prefix.to_vec(), prefix.last().cloned());
            }
            UseTree::Name(name) => self.import(join(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(rename) => {
                let path = join(&rename.ident);
                let path = if rename.ident == "self" { prefix.to_vec() } else { path };
                self.import(path, Some(rename.rename.to_string()));
            }
            UseTree::Glob(_) => self.import(prefix.to_vec(), None),
        }
    }

    fn import(&mut self, path: Vec<String>, name: Option<String>) {
        let path = self.add(path);
        if let Some(name) = name {
            self.imported.insert(name, path);
        }
    }

    /// Adds the paths and method calls in the arguments of a macro.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut separators = String::new();
        let mut trees = tokens.into_iter().peekable();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Ident(ident) => {
                    let name = ident.unraw().to_string();
                    let is_call = matches!(trees.peek(), Some(TokenTree::Group(group))
                        if group.delimiter() == proc_macro2::Delimiter::Parenthesis);
                    if self.is_in_page && path == ["self"] && separators == "." && is_call {
                        self.page_calls.insert(name.clone());
                    }
                    if separators != "::" {
                        self.finish(&mut path);
                    }
                    path.push(name);
                    separators.clear();
                }
                TokenTree::Punct(punct) => separators.push(punct.as_char()),
                TokenTree::Group(group) => {
                    self.finish(&mut path);
                    separators.clear();
                    self.add_tokens(group.stream());
                }
                TokenTree::Literal(_) => separators.push(' '),
            }
        }
        self.finish(&mut path);
    }

    fn finish(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.add(path);
        }
    }
}

impl<'ast> Visit<'ast> for References {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let is_page = matches!(&*item.self_ty, Type::Path(path) if path.path.is_ident("Page"));
        self.is_in_page = is_page && item.trait_.is_none() && self.module[0] == "page";
        syn::visit::visit_item_impl(self, item);
        self.is_in_page = false;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if is_test(&item.attrs) {
            return;
        }
        if self.is_in_page {
            self.page_methods.insert(item.sig.ident.to_string());
        }
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if self.is_in_page
            && matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self"))
        {
            self.page_calls.insert(call.method.to_string());
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
        if names.len() > 1 {
            self.add(names);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.visit_path(&item.path);
        self.add_tokens(item.tokens.clone());
    }

    /// `pub(in crate::page)` is not an import.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

#[test]
fn modules_use_only_the_modules_before_them() {
    let mut wrong = Vec::new();
    for source in sources() {
        let (name, module) = (source.name(), &source.module[0]);
        let Some((_, allowed)) = MODULE_DEPENDENCIES.iter().find(|(known, _)| known == module)
        else {
            wrong.push(format!("{name}: module `{module}` is not in the table"));
            continue;
        };
        let references = References::of(&source);
        let used: BTreeSet<&String> = references.paths.iter().map(|path| &path[0]).collect();
        for used in used {
            let is_module = MODULE_DEPENDENCIES.iter().any(|(known, _)| known == used);
            if is_module && used != module && !allowed.contains(&&**used) {
                wrong.push(format!("{name} uses the module `{used}`"));
            }
        }
        for (outside, users) in RESTRICTED_CRATES {
            let is_used = references.roots.iter().any(|path| path[0] == *outside);
            if is_used && !users.iter().any(|user| name.starts_with(user)) {
                wrong.push(format!("{name} uses the crate `{outside}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the files that `file` imports, directly or through other files.
fn reachable<'a>(
    imports: &'a BTreeMap<String, BTreeSet<String>>,
    file: &str,
) -> BTreeSet<&'a String> {
    let mut found: BTreeSet<&String> = BTreeSet::new();
    let mut next: Vec<&String> = imports.get(file).into_iter().flatten().collect();
    while let Some(file) = next.pop() {
        if found.insert(file) {
            next.extend(imports.get(file).into_iter().flatten());
        }
    }
    found
}

/// Returns the imports that are part of a cycle: `(file, imported file)`.
fn cyclic(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<(&String, &String)> {
    let all = imports.iter().flat_map(|(file, files)| files.iter().map(move |other| (file, other)));
    all.filter(|(file, imported)| reachable(imports, imported).contains(file)).collect()
}

/// `file → the files of the folder that it imports`. A folder within counts as one file. The
/// folder's `mod.rs` is not a file of the folder, but an import of a name that it imports itself
/// counts as an import of the file behind that name.
fn imports_within(folder: &[String], sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = sources
        .iter()
        .filter(|source| source.module.starts_with(folder))
        .filter_map(|source| Some((source.module.get(folder.len())?.clone(), BTreeSet::new())))
        .collect();
    let mut exports = HashMap::new();
    for source in sources.iter().filter(|source| source.module == folder) {
        for (name, path) in References::of(source).imported {
            // In a `mod.rs`, a path can begin with the name of a child module.
            let path = match path.first() {
                Some(child) if imports.contains_key(child) => [folder, &path].concat(),
                _ => path,
            };
            if let Some(file) = path.get(folder.len()).filter(|_| path.starts_with(folder)) {
                exports.insert(name, file.clone());
            }
        }
    }
    for source in sources.iter().filter(|source| source.module.starts_with(folder)) {
        let Some(file) = source.module.get(folder.len()) else { continue };
        for path in References::of(source).paths.iter().filter(|path| path.starts_with(folder)) {
            let Some(name) = path.get(folder.len()) else { continue };
            let imported = if imports.contains_key(name) { Some(name) } else { exports.get(name) };
            if let Some(imported) = imported.filter(|imported| *imported != file).cloned() {
                imports.entry(file.clone()).or_default().insert(imported);
            }
        }
    }
    imports
}

#[test]
fn the_files_of_a_folder_do_not_import_each_other_in_a_cycle() {
    let sources = sources();
    let folders: BTreeSet<Vec<String>> = sources
        .iter()
        .flat_map(|source| (1..source.module.len()).map(|length| source.module[..length].to_vec()))
        .collect();
    assert!(folders.len() > 30, "too few folders were found");
    let mut wrong = Vec::new();
    for folder in folders {
        let mut imports = imports_within(&folder, &sources);
        let folder = folder.join("/");
        for (_, file, imported, _) in ACCEPTED_CYCLES.iter().filter(|accepted| accepted.0 == folder)
        {
            let exists = imports.get_mut(*file).is_some_and(|files| files.remove(*imported));
            if !exists {
                wrong.push(format!("{folder}: {file} → {imported} is accepted but does not exist"));
            }
        }
        let cyclic = cyclic(&imports).into_iter();
        wrong.extend(cyclic.map(|(file, imported)| format!("{folder}: {file} → {imported}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_folders_of_page_use_only_lower_ones() {
    let sources = sources();
    let files: Vec<(&Source, References)> = sources
        .iter()
        .filter(|source| source.module[0] == "page" && source.module.len() > 1)
        .map(|source| (source, References::of(source)))
        .collect();
    let mut folder_of = HashMap::new();
    for (source, references) in &files {
        for method in &references.page_methods {
            folder_of.insert(method.clone(), source.module[1].clone());
        }
    }
    assert!(folder_of.len() > 100, "too few methods of Page were found");
    let mut wrong = Vec::new();
    for (source, references) in &files {
        let (name, folder) = (source.name(), &*source.module[1]);
        let Some((_, lower)) = PAGE_FOLDERS.iter().find(|(known, _)| *known == folder) else {
            wrong.push(format!("{name}: folder `{folder}` is not in the table"));
            continue;
        };
        let is_allowed = |used: &str| used == folder || lower.contains(&used);
        for path in references.paths.iter().filter(|path| path[0] == "page" && path.len() > 1) {
            // Names that `page` re-exports are imported from their folder.
            if path[1] != "Page" && !is_allowed(&path[1]) {
                wrong.push(format!("{name} imports `{}`", path.join("::")));
            }
        }
        for method in &references.page_calls {
            if let Some(used) = folder_of.get(method).filter(|used| !is_allowed(used)) {
                wrong.push(format!("{name} calls `{method}` of `{used}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The types that a file declares, each with whether it is compiled for some platforms only.
#[derive(Default)]
struct Types {
    declared: Vec<(String, bool)>,
    /// The number of visited items with `#[cfg]`.
    conditions: usize,
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test(attributes(item)) {
            return;
        }
        let has_cfg = attributes(item).iter().any(|attribute| attribute.path().is_ident("cfg"));
        self.conditions += usize::from(has_cfg);
        let name = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.declared.extend(name.map(|name| (name.to_string(), self.conditions > 0)));
        syn::visit::visit_item(self, item);
        self.conditions -= usize::from(has_cfg);
    }
}

/// A file can declare a type twice for different platforms.
#[test]
fn a_type_name_occurs_once() {
    let mut declared: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    for source in sources() {
        let mut types = Types::default();
        types.visit_file(&source.syntax);
        for (name, has_cfg) in types.declared {
            declared.entry(name).or_default().push((source.name(), has_cfg));
        }
    }
    assert!(declared.len() > 500, "too few types were found");
    let wrong: Vec<String> = declared
        .into_iter()
        .filter(|(_, places)| {
            let is_alternative = |place: &(String, bool)| place.1 && place.0 == places[0].0;
            places.len() > 1 && !places.iter().all(is_alternative)
        })
        .map(|(name, places)| {
            let files: Vec<String> = places.into_iter().map(|(file, _)| file).collect();
            format!("`{name}` is declared in {}", files.join(", "))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn references_are_found_in_groups_paths_and_macros() {
    let path = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let code = "use super::{a, b::{self, C, d as e}};
        use crate::x::Y;
        impl Page {
            fn method(&self) -> super::super::f::G {
                select! { () = self.inner() => println!(\"{}\", crate::h::i()), }
                self.other().chained(napi::J)
            }
        }
        #[cfg(test)]
        use crate::only::tests;";
    let module = path("page::n::o");
    let source = Source { module: module.clone(), syntax: syn::parse_str(code).unwrap() };
    let references = References::of(&source);
    let found = ["h::i", "page::f::G", "page::n::a", "page::n::b", "page::n::b::C"];
    let found = found.into_iter().chain(["page::n::b::d", "x::Y"]);
    assert_eq!(references.paths, found.map(path).collect());
    assert_eq!(references.imported["e"], path("page::n::b::d"));
    assert!(references.roots.contains(&path("napi::J")), "{:?}", references.roots);
    assert_eq!(references.page_methods, BTreeSet::from(["method".to_owned()]));
    assert_eq!(references.page_calls, BTreeSet::from(["inner".to_owned(), "other".to_owned()]));
}

#[test]
fn the_imports_of_a_cycle_are_found() {
    let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let imports = BTreeMap::from([
        ("a".to_owned(), files(&["b"])),
        ("b".to_owned(), files(&["c", "d"])),
        ("c".to_owned(), files(&["b"])),
    ]);
    let found = cyclic(&imports).into_iter().map(|(file, other)| format!("{file} → {other}"));
    assert_eq!(found.collect::<Vec<_>>(), ["b → c", "c → b"]);
}
