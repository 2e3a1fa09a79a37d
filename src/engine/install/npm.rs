//! The last installation method: the npm package `@sparticuz/chromium`. It contains a compressed
//! headless shell, and the libraries and fonts that minimal containers lack. It works if only an
//! npm registry is reachable.

use std::path::Path;

use tokio::process::Command;

use super::ProgressListener;
use super::process::{run, version};

const PACKAGE: &str = "@sparticuz/chromium";
/// The file that `find` searches for: the wrapper, or the browser itself.
const EXECUTABLE: &str = "chromium-headless-shell";
/// The browser's file name if a wrapper starts it.
const BEHIND_WRAPPER: &str = "chromium";

/// Unpacks with a dependency of the package. Arguments: the package's folder, the target folder.
const UNPACK: &str = r#"
const [from, to] = process.argv.slice(1);
const { createReadStream, createWriteStream, mkdirSync } = require("node:fs");
const { createBrotliDecompress } = require("node:zlib");
const { join } = require("node:path");
const { pipeline } = require("node:stream/promises");
const { createRequire } = require("node:module");
const { extract } = createRequire(join(from, "package.json"))("tar-fs");
const unpack = (name, target) =>
  pipeline(createReadStream(join(from, "bin", name)), createBrotliDecompress({ chunkSize: 1 << 21 }), target);
mkdirSync(to, { recursive: true });
Promise.all([
  unpack("chromium.br", createWriteStream(join(to, "chromium-headless-shell"), { mode: 0o755 })),
  unpack("swiftshader.tar.br", extract(to)),
  unpack("fonts.tar.br", extract(to)),
  unpack("al2023.tar.br", extract(to)),
]).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
"#;

pub(super) async fn install(
    folder: &Path,
    headless: bool,
    progress: ProgressListener<'_>,
) -> Result<(), String> {
    if !headless {
        return Err("it has no browser with a window".to_owned());
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("it supports only Linux on x86-64".to_owned());
    }
    let to_text = |error: std::io::Error| error.to_string();
    let unpacked = folder.join(format!("unpacking-{}", std::process::id()));
    let outcome = fill(&unpacked, progress).await;
    let outcome = match outcome {
        Ok(version) => {
            let home = folder.join(EXECUTABLE).join(&version);
            let _ = std::fs::remove_dir_all(&home);
            std::fs::create_dir_all(folder.join(EXECUTABLE))
                .and_then(|()| std::fs::rename(unpacked.join("browser"), &home))
                .map_err(to_text)
                .and_then(|()| write_font_configuration(&home).map_err(to_text))
        }
        Err(why) => Err(why),
    };
    let _ = std::fs::remove_dir_all(&unpacked);
    outcome
}

/// Downloads and unpacks into `unpacked/browser`. Returns the package's version.
async fn fill(unpacked: &Path, progress: ProgressListener<'_>) -> Result<String, String> {
    let to_text = |error: std::io::Error| error.to_string();
    std::fs::create_dir_all(unpacked).map_err(to_text)?;
    // Without its own package.json, npm would install into the nearest parent folder that has one.
    std::fs::write(unpacked.join("package.json"), "{}").map_err(to_text)?;
    progress("  downloading about 68 MB…");
    let mut npm = Command::new("npm");
    npm.args([
        "install",
        "--global=false",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ]);
    npm.arg("--prefix").arg(unpacked).arg(PACKAGE).current_dir(unpacked).kill_on_drop(true);
    run(&mut npm, &|_| ()).await?;
    let package = unpacked.join("node_modules").join(PACKAGE);
    let browser = unpacked.join("browser");
    progress("  unpacking…");
    let mut node = Command::new("node");
    node.arg("-e").arg(UNPACK).arg(&package).arg(&browser).kill_on_drop(true);
    run(&mut node, &|_| ()).await?;
    if let Err(why) = version(&browser.join(EXECUTABLE)).await {
        progress(&format!("  a library is missing ({why}); using the libraries of the package"));
        wrap(&browser, true).map_err(to_text)?;
    } else if !Path::new("/etc/fonts/fonts.conf").is_file() {
        wrap(&browser, false).map_err(to_text)?;
    }
    let manifest = std::fs::read_to_string(package.join("package.json")).map_err(to_text)?;
    let manifest: serde_json::Value =
        serde_json::from_str(&manifest).map_err(|error| error.to_string())?;
    manifest["version"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| "the package has no version".to_owned())
}

/// Installs a script that starts the browser with the package's libraries and fonts. It uses
/// `exec`, so that the browser keeps the process id and the pipes.
fn wrap(browser: &Path, with_libraries: bool) -> std::io::Result<()> {
    let libraries = if with_libraries {
        "export LD_LIBRARY_PATH=\"$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n"
    } else {
        ""
    };
    let script = format!(
        "#!/bin/sh\nhere=$(dirname \"$0\")\n{libraries}[ -f /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE=\"$here/fonts.conf\"\nexec \"$here/{BEHIND_WRAPPER}\" \"$@\"\n"
    );
    let executable = browser.join(EXECUTABLE);
    std::fs::rename(&executable, browser.join(BEHIND_WRAPPER))?;
    std::fs::write(&executable, script)?;
    #[cfg(unix)]
    std::fs::set_permissions(&executable, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

/// Replaces the package's font configuration, which has paths of AWS Lambda.
fn write_font_configuration(home: &Path) -> std::io::Result<()> {
    let (fonts, cache) = (home.join("fonts"), home.join("fonts-cache"));
    let text = format!(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">\n<fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>\n",
        fonts.display(),
        cache.display()
    );
    std::fs::write(home.join("fonts.conf"), text)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wrapped_browser_gets_the_libraries_and_the_arguments() {
        let folder = std::env::temp_dir().join(format!("troupe-wrap-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let browser = folder.join(EXECUTABLE);
        std::fs::write(&browser, "#!/bin/sh\necho \"$LD_LIBRARY_PATH $1\"\n").unwrap();
        std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        wrap(&folder, true).unwrap();
        let mut answer = version(&browser).await;
        while answer.as_ref().is_err_and(|why| why.contains("busy")) {
            answer = version(&browser).await;
        }
        let answer = answer.unwrap();
        assert!(answer.starts_with(&format!("{}/lib", folder.display())), "{answer}");
        assert!(answer.ends_with("--version"), "{answer}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
