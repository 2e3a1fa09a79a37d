//! Bundles the script that runs inside pages (`src/page/injected`) into one string, and prepares the addon.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=src/page/injected");
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let esbuild = Path::new("node_modules/.bin/esbuild");
    assert!(esbuild.exists(), "esbuild is missing: run `npm ci` first (or `npm run setup`, which does all)");
    let status = Command::new(esbuild)
        .args(["src/page/injected/index.ts", "--bundle", "--format=iife", "--target=es2020", "--minify", "--charset=utf8"])
        .args(["--legal-comments=none", "--log-level=warning"])
        .arg(format!("--outfile={out}/injected.js"))
        .status()
        .expect("esbuild starts");
    assert!(status.success(), "src/page/injected could not be bundled");
    #[cfg(feature = "node")]
    napi_build::setup();
}
