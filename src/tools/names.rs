//! Checks that no code outside a tool's row names the tool: how to treat it must be a property of
//! the row.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Registry, Tool};

/// Files that may name tools, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("src/transport/network/api/operations.rs", "each row is a route of the JSON API to one tool"),
    ("src/tools/pass_through.rs", "names the tools of other servers"),
    ("index.js", "SessionManager's methods call these tools"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, found);
        } else if (name.ends_with(".rs") || name.ends_with(".js"))
            && name != "tests.rs"
            && name != "shapes.rs"
        {
            found.push(path);
        }
    }
}

/// Returns the tools that a `line` of code names. Single words such as `type` are also ordinary
/// strings, so they count only in code that mentions tools.
fn named(line: &str) -> impl Iterator<Item = &'static Tool> {
    let about_tools = line.contains("tool") || line.contains("name ==");
    let words = line.split(['"', '\'']).skip(1).step_by(2);
    words
        .filter_map(Registry::row)
        // The rows of the Playwright set are in one table, by their names.
        .filter(|tool| !tool.is_playwright())
        .filter(move |tool| tool.name.contains('_') || about_tools)
}

/// Returns whether the row of `tool` begins on this line: `tool("click", …)`, or the name alone on
/// the line after `tool(`.
fn is_row(before: &str, line: &str, tool: &Tool) -> bool {
    let begins = ["tool", "acts", "goes"]
        .iter()
        .any(|row| line.contains(&format!("{row}(\"{}\"", tool.name)));
    let alias =
        tool.properties.alias.is_some_and(|alias| line.contains(&format!(".alias(\"{alias}\"")));
    begins || alias || before.trim_end().ends_with("tool(")
}

#[test]
fn only_its_row_names_a_tool() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("index.js")];
    sources(&root.join("src"), &mut files);
    sources(&root.join("lib"), &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
            continue;
        }
        let code = fs::read_to_string(&file).unwrap();
        let code = code.split("mod tests {").next().unwrap_or_default();
        let mut before = "";
        for (number, line) in (1..).zip(code.lines()) {
            let is_code =
                !line.trim_start().starts_with("//") && !line.trim_start().starts_with('*');
            for tool in named(line) {
                if is_code && !is_row(before, line, tool) {
                    wrong.push(format!("{name}:{number}: {}", line.trim()));
                }
            }
            before = line;
        }
    }
    assert!(wrong.is_empty(), "make this a property of the tool's row:\n{}", wrong.join("\n"));
}
