//! Bundles the script that runs inside pages (`src/page/injected`) into strings, embeds the page of
//! the dashboard (`lib/dashboard`), and prepares the addon.

use std::{env, error::Error, fs, path::Path, process::Command};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/page/injected");
    println!("cargo::rerun-if-changed=lib/dashboard");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR")?;
    if !Path::new("node_modules/esbuild").exists() {
        return Err(
            "esbuild is missing: run `npm ci` first (or `npm run setup`, which also builds the addon)".into()
        );
    }
    let status = esbuild()
        .args(
            ["index", "playwright", "prelude"].map(|entry| format!("src/page/injected/{entry}.ts")),
        )
        .args(["--bundle", "--format=iife", "--target=es2020", "--minify", "--charset=utf8"])
        .args(["--legal-comments=none", "--log-level=warning"])
        .arg(format!("--outdir={out}/injected"))
        .status()?;
    if !status.success() {
        return Err("src/page/injected could not be bundled".into());
    }
    join(&Path::new(&out).join("injected"))?;
    embed(Path::new("lib/dashboard"), &Path::new(&out).join("dashboard_files.rs"))?;
    #[cfg(feature = "node")]
    napi_build::setup();
    Ok(())
}

/// Returns the command that runs esbuild. On Windows its package contains a script for Node, on
/// other systems an executable file.
fn esbuild() -> Command {
    if cfg!(windows) {
        let mut node = Command::new("node");
        node.arg("node_modules/esbuild/bin/esbuild");
        return node;
    }
    Command::new("node_modules/.bin/esbuild")
}

/// Appends each whole script to the script that runs in each document. A getter defers its
/// evaluation to the first use.
fn join(folder: &Path) -> std::io::Result<()> {
    let first = fs::read_to_string(folder.join("prelude.js"))?;
    for (entry, joined) in [("index", "prelude"), ("playwright", "playwright-prelude")] {
        let whole = fs::read_to_string(folder.join(format!("{entry}.js")))?;
        let getter = format!(
            "get() {{ delete globalThis.__troupe;\n{whole}\nreturn globalThis.__troupe; }}"
        );
        fs::write(
            folder.join(format!("{joined}.js")),
            format!(
                "{first}Object.defineProperty(globalThis, '__troupe', {{configurable: true, {getter}}});\n"
            ),
        )?;
    }
    Ok(())
}

/// Writes an expression with the path and the content of each file in `folder`.
fn embed(folder: &Path, output: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut rows = String::new();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        let name = name.to_string_lossy().replace('\\', "/");
        rows.push_str(&format!("({name:?}, include_bytes!({:?})),\n", fs::canonicalize(&file)?));
    }
    fs::write(output, format!("&[\n{rows}]\n"))
}
