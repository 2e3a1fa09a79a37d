//! The dependencies between modules: each module uses only the modules that are listed with its
//! name here. The files of a folder do not import each other in a cycle.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

/// `module → the modules that it may use`. `lib.rs` only declares modules.
const ARROWS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("offload", &[]),
    ("private", &[]),
    ("config", &["error"]),
    ("policy", &["config", "error", "offload"]),
    ("engine", &["config", "error", "offload"]),
    ("page", &["engine", "policy", "config", "error", "offload"]),
    ("store", &["private", "policy", "config", "error", "offload"]),
    ("upstream", &["private", "engine", "policy", "config", "error", "offload"]),
    ("session", &["upstream", "store", "page", "engine", "policy", "config", "error", "offload"]),
    (
        "tools",
        &[
            "private", "session", "upstream", "store", "page", "engine", "policy", "config",
            "error", "offload",
        ],
    ),
    ("server", &["tools", "session", "upstream", "page", "config", "error", "offload"]),
    (
        "transport",
        &["private", "server", "tools", "session", "upstream", "config", "error", "offload"],
    ),
    (
        "cli",
        &[
            "private",
            "transport",
            "server",
            "tools",
            "store",
            "engine",
            "policy",
            "config",
            "error",
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
const OUTSIDE: &[(&str, &[&str])] = &[
    ("napi", &["node"]),
    ("napi_derive", &["node"]),
    ("rmcp", &["server", "transport"]),
    ("axum", &["transport"]),
    ("clap", &["cli"]),
    ("rusqlite", &["store"]),
    ("chromiumoxide", &["engine/chromium", "engine/install"]),
    ("thirtyfour", &["engine/webkit"]),
];

/// Folders of `src` whose files, and folders within, do not import each other in a cycle. A
/// folder's `mod.rs` is not part of the check, except that an import of a name that it re-exports
/// counts as an import of the file behind it.
const ACYCLIC: &[&str] = &[
    "engine",
    "engine/chromium",
    "engine/chromium/page",
    "engine/connection",
    "engine/firefox",
    "engine/install",
    "engine/network_policy",
    "node",
    "page/act",
    "page/query",
    "page/read",
    "page/resume",
    "page/script",
    "page/state",
    "policy",
    "transport",
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

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Names that follow `before` in the code, comments and texts of tests left out.
fn names_after<'a>(code: &'a str, before: &str) -> Vec<&'a str> {
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| {
            line.match_indices(before).map(|(at, _)| &line[at + before.len()..]).collect::<Vec<_>>()
        })
        .map(|rest| {
            rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
        })
        .collect()
}

/// What a `use crate::{a::…, b}` list names, one level deep.
fn grouped(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::{") {
        let (mut depth, mut name) = (1, String::new());
        for character in code[at + "crate::{".len()..].chars() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => names.push(std::mem::take(&mut name)),
                c if depth == 1 => name.push(c),
                _ => {}
            }
            if depth == 0 {
                names.push(std::mem::take(&mut name));
                break;
            }
        }
    }
    names.iter().map(|name| name.trim().split("::").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_arrow_points_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 40, "the sources are found");
    let modules: Vec<&str> = ARROWS.iter().map(|(module, _)| *module).collect();
    let mut wrong = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&root).unwrap().with_extension("");
        let inside = inside.to_str().unwrap();
        let module = inside.split('/').next().unwrap();
        if module == "lib" {
            continue;
        }
        let Some((_, may)) = ARROWS.iter().find(|(name, _)| *name == module) else {
            wrong.push(format!("{inside}: module `{module}` is not in the table"));
            continue;
        };
        let code = fs::read_to_string(&file).unwrap();
        let used =
            names_after(&code, "crate::").into_iter().map(str::to_owned).chain(grouped(&code));
        for name in used.filter(|name| modules.contains(&name.as_str())) {
            if name != module && !may.contains(&name.as_str()) {
                wrong.push(format!("{inside} knows `{name}`"));
            }
        }
        for (outside, knows) in OUTSIDE {
            let used =
                code.lines().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
                    line.contains(&format!("{outside}::"))
                        || line.contains(&format!("use {outside} "))
                });
            if used && !knows.iter().any(|allowed| inside.starts_with(allowed)) {
                wrong.push(format!("{inside} knows the crate `{outside}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The paths of a `use` tree: `a::{b, c::D}` gives `[a, b]` and `[a, c, D]`.
fn tree_paths(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    loop {
        at += tree[at..].len() - tree[at..].trim_start().len();
        let rest = &tree[at..];
        if rest.starts_with('{') {
            at += 1;
            while !tree[at..].is_empty() {
                at += tree_paths(&tree[at..], &path, paths);
                let next = tree[at..].chars().next();
                at += usize::from(next.is_some());
                if next != Some(',') {
                    break;
                }
            }
            return at;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        path.push(rest[..end].to_owned());
        at += end;
        if !tree[at..].starts_with("::") {
            // A trailing comma has no path after it.
            if end > 0 {
                paths.push(path);
            }
            // Skips `as name` and spaces.
            return at + tree[at..].find([',', '}', ';', '\n']).unwrap_or(0);
        }
        at += 2;
    }
}

/// The absolute paths that the code of `module` names with `crate::`, `super::` or `self::`,
/// without its tests.
fn absolute_paths(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut paths = Vec::new();
    for keyword in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(keyword) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                tree_paths(&code[at..], &[], &mut paths);
            }
        }
    }
    let absolute = paths.into_iter().map(|path| {
        let mut absolute = Vec::new();
        for (index, name) in path.into_iter().enumerate() {
            match name.as_str() {
                "crate" => absolute.clear(),
                "self" if index == 0 => absolute = module.to_vec(),
                "super" => {
                    if index == 0 {
                        absolute = module.to_vec();
                    }
                    absolute.pop();
                }
                _ => absolute.push(name),
            }
        }
        absolute
    });
    absolute.collect()
}

/// A cycle of `imports` that is reachable from the last file of `path`.
fn cycle<'a>(
    imports: &'a HashMap<String, Vec<String>>,
    path: &mut Vec<&'a str>,
    finished: &mut Vec<&'a str>,
) -> Option<String> {
    let file = *path.last()?;
    for next in imports.get(file).into_iter().flatten() {
        if let Some(start) = path.iter().position(|visited| visited == next) {
            return Some(format!("{} → {next}", path[start..].join(" → ")));
        }
        if !finished.contains(&next.as_str()) {
            path.push(next);
            if let Some(found) = cycle(imports, path, finished) {
                return Some(found);
            }
            path.pop();
        }
    }
    finished.push(file);
    None
}

/// `file → the files of the folder that it imports`. A folder within counts as one file.
fn imports_within(folder: &str) -> HashMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root.join(folder), &mut files);
    let folder: Vec<String> = folder.split('/').map(str::to_owned).collect();
    let modules = files.iter().map(|file| {
        let mut module: Vec<String> = file
            .strip_prefix(&root)
            .unwrap_or(file)
            .with_extension("")
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        module.pop_if(|name| name == "mod");
        let code = fs::read_to_string(file).unwrap_or_default().replace("\r\n", "\n");
        let code = if module == folder { code.replace("use ", "use self::") } else { code };
        let paths = absolute_paths(&code, &module);
        (module, paths)
    });
    let modules: Vec<_> = modules.collect();
    let mut imports: HashMap<String, Vec<String>> = modules
        .iter()
        .filter_map(|(module, _)| module.get(folder.len()))
        .map(|name| (name.clone(), Vec::new()))
        .collect();
    let mut exports = HashMap::new();
    for (_, paths) in modules.iter().filter(|(module, _)| *module == folder) {
        for path in paths.iter().filter(|path| path.starts_with(&folder)) {
            let inside = path.get(folder.len()).filter(|name| imports.contains_key(*name));
            if let (Some(file), Some(name)) = (inside, path.last()) {
                exports.insert(name.clone(), file.clone());
            }
        }
    }
    for (module, paths) in modules.iter().filter(|(module, _)| *module != folder) {
        let file = &module[folder.len()];
        for path in paths.iter().filter(|path| path.starts_with(&folder)) {
            let Some(name) = path.get(folder.len()) else { continue };
            let imported =
                if imports.contains_key(name) { name } else { exports.get(name).unwrap_or(file) };
            let imported = imported.clone();
            if imported != *file {
                imports.entry(file.clone()).or_default().push(imported);
            }
        }
    }
    imports
}

#[test]
fn the_files_of_a_folder_do_not_import_each_other_in_a_cycle() {
    let mut cycles = Vec::new();
    for folder in ACYCLIC {
        let imports = imports_within(folder);
        assert!(imports.len() > 1, "{folder} has files");
        let mut finished = Vec::new();
        for file in imports.keys() {
            if let Some(found) = cycle(&imports, &mut vec![file], &mut finished) {
                cycles.push(format!("{folder}: {found}"));
                break;
            }
        }
    }
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
}

/// The code of the `impl Page` blocks of a file. A method call that is on a line of its own is
/// moved to the line before.
fn page_methods(code: &str) -> String {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut methods = String::new();
    let mut inside = false;
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        inside = (inside || line == "impl Page {") && line != "}";
        if inside {
            if !line.trim_start().starts_with('.') {
                methods.push('\n');
            }
            methods.push_str(line.trim_start());
        }
    }
    methods
}

/// The names of the functions that `code` declares.
fn declared(code: &str) -> Vec<&str> {
    code.lines()
        .map(|line| {
            line.strip_prefix("pub ").or(line.strip_prefix("pub(in crate::page) ")).unwrap_or(line)
        })
        .map(|line| line.strip_prefix("async ").unwrap_or(line))
        .filter_map(|line| line.strip_prefix("fn "))
        .map(|rest| rest.split(['(', '<']).next().unwrap_or_default())
        .collect()
}

#[test]
fn the_folders_of_page_use_only_lower_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root.join("page"), &mut files);
    let files: Vec<(Vec<String>, String)> = files
        .iter()
        .map(|file| {
            let inside = file.strip_prefix(&root).unwrap().with_extension("");
            let mut module: Vec<String> =
                inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            module.pop_if(|name| name == "mod");
            (module, fs::read_to_string(file).unwrap().replace("\r\n", "\n"))
        })
        .filter(|(module, _)| module.len() > 1)
        .collect();
    let mut folder_of = HashMap::new();
    for (module, code) in &files {
        for method in declared(&page_methods(code)) {
            folder_of.insert(method.to_owned(), module[1].clone());
        }
    }
    assert!(folder_of.len() > 100, "the methods of Page are found");
    let mut wrong = Vec::new();
    for (module, code) in &files {
        let (name, folder) = (module.join("/"), module[1].as_str());
        let Some((_, may)) = PAGE_FOLDERS.iter().find(|(known, _)| *known == folder) else {
            wrong.push(format!("{name}: folder `{folder}` is not in the table"));
            continue;
        };
        let allowed = |used: &str| used == folder || may.contains(&used);
        for path in absolute_paths(code, module).iter().filter(|path| path.len() > 1) {
            // Names that `page` re-exports are imported from their folder. A comma at the end gives
            // "".
            let used = path[1].as_str();
            if path[0] == "page" && !["", "Page"].contains(&used) && !allowed(used) {
                wrong.push(format!("{name} imports `{}`", path.join("::")));
            }
        }
        let methods = page_methods(code);
        for (at, _) in methods.match_indices("self.") {
            let rest = &methods[at + "self.".len()..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let (method, after) = rest.split_at(end.unwrap_or(rest.len()));
            let is_call = after.starts_with('(') || after.starts_with("::<");
            if let Some(used) = folder_of.get(method).filter(|used| is_call && !allowed(used)) {
                wrong.push(format!("{name} calls `{method}` of `{used}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_found_through_groups_and_reexports() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let code = "use super::{a, b::{C, d as e}};\nuse crate::x::Y;\nlet z = super::super::f::g();\n";
    let found = absolute_paths(code, &module("m::n::o"));
    for path in ["m::n::a", "m::n::b::C", "m::n::b::d", "x::Y", "m::f::g"] {
        assert!(found.contains(&module(path)), "{path} in {found:?}");
    }
    let imports = HashMap::from([
        ("a".to_owned(), vec!["b".to_owned()]),
        ("b".to_owned(), vec!["c".to_owned()]),
        ("c".to_owned(), vec!["b".to_owned()]),
    ]);
    assert_eq!(cycle(&imports, &mut vec!["a"], &mut Vec::new()).as_deref(), Some("b → c → b"));
}
