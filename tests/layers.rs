//! The dependencies between modules: each module uses only the modules that are listed with its name here.

use std::{
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
