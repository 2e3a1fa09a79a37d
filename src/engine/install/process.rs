//! Runs other programs during an installation. Their output becomes progress messages. A failure
//! becomes a message of one line.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::Command;

use crate::config::server_variables;

const VERSION_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the version that the browser prints, or why it does not run.
pub async fn version(path: &Path) -> Result<String, String> {
    if cfg!(windows) {
        // On Windows, `--version` opens a window.
        return Ok("unknown version".to_owned());
    }
    // WebKit's driver has no `--version`, but prints its usage if it runs.
    let has_no_version = path.file_stem().is_some_and(|name| name == "WebKitWebDriver");
    let mut command = Command::new(path);
    command
        .arg(if has_no_version { "--help" } else { "--version" })
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match tokio::time::timeout(VERSION_TIMEOUT, command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => {
            return Err(format!("no answer to --version in {} s", VERSION_TIMEOUT.as_secs()));
        }
    };
    let first_line = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    };
    match first_line(&output.stdout) {
        _ if has_no_version && output.status.success() => {
            Ok("WebKitWebDriver (unknown version)".to_owned())
        }
        Some(version) if output.status.success() => Ok(version),
        _ => Err(first_line(&output.stderr).unwrap_or_else(|| output.status.to_string())),
    }
}

/// Runs a program to its end. Passes each line of its output to `line`. The error has the last
/// lines of its stderr.
pub(super) async fn run(
    command: &mut Command,
    line: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    for variable in server_variables() {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| format!("`{name}` cannot be started ({error})"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let last_lines = Mutex::new(Vec::new());
    let keep = |text: &str| {
        if !text.trim().is_empty() {
            last_lines.lock().push(text.trim().to_owned());
        }
    };
    let (_, _, status) =
        tokio::join!(each_line(stdout, line), each_line(stderr, &keep), child.wait());
    let status = status.map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(());
    }
    let last_lines = last_lines.into_inner();
    let tail = last_lines[last_lines.len().saturating_sub(3)..].join(" / ");
    Err(if tail.is_empty() { format!("`{name}`: {status}") } else { format!("`{name}`: {tail}") })
}

async fn each_line(stream: Option<impl AsyncRead + Unpin>, line: &(dyn Fn(&str) + Send + Sync)) {
    let Some(stream) = stream else { return };
    let mut lines = BufReader::new(stream).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        line(&text);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {

    use super::*;

    #[tokio::test]
    async fn output_is_progress_and_an_error_has_the_last_lines() {
        let seen = Mutex::new(Vec::new());
        let line = |text: &str| seen.lock().push(text.to_owned());
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two; echo trouble >&2; exit 3"]);
        assert_eq!(run(&mut command, &line).await, Err("`sh`: trouble".to_owned()));
        assert_eq!(*seen.lock(), ["one", "two"]);
        assert_eq!(run(&mut Command::new("true"), &line).await, Ok(()));
        let missing = run(&mut Command::new("/nowhere/program"), &line).await.unwrap_err();
        assert!(missing.starts_with("`/nowhere/program` cannot be started"), "{missing}");
    }

    #[tokio::test]
    async fn a_version_is_the_first_line_and_a_browser_that_fails_says_why() {
        assert!(version(Path::new("/bin/sh")).await.is_err());
        let folder = std::env::temp_dir().join(format!("troupe-version-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("browser");
        std::fs::write(&path, "#!/bin/sh\necho; echo Chromium 1.2.3\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        // Another thread's fork may still hold the file open for writing for a moment (ETXTBSY).
        let mut answer = version(&path).await;
        while answer.as_ref().is_err_and(|why| why.contains("busy")) {
            answer = version(&path).await;
        }
        assert_eq!(answer, Ok("Chromium 1.2.3".to_owned()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
