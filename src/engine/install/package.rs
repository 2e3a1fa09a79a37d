//! The first installation method: Debian's packages, which install all libraries and get updates.

use std::path::Path;

use tokio::process::Command;

use super::ProgressListener;
use super::process::run;

const APT: &str = "/usr/bin/apt-get";

/// Installs `packages`, or only the last one if the release does not have all of them.
pub(super) async fn install(
    packages: &[&str],
    progress: ProgressListener<'_>,
) -> Result<(), String> {
    if !Path::new(APT).is_file() {
        return Err("apt-get is not installed".to_owned());
    }
    check_debian(&std::fs::read_to_string("/etc/os-release").unwrap_or_default())?;
    let with_sudo = !is_root();
    if with_sudo {
        run(Command::new("sudo").args(["-n", "true"]).kill_on_drop(true), &|_| ())
            .await
            .map_err(|_| "needs root, or sudo without a password".to_owned())?;
    }
    let all = [&["install"], packages].concat();
    if apt(with_sudo, &all, progress).await.is_ok() {
        return Ok(());
    }
    // The package lists may be missing (new containers) or old.
    progress("  updating the package lists…");
    apt(with_sudo, &["update"], progress).await?;
    match (apt(with_sudo, &all, progress).await, packages) {
        (Err(why), [_, .., last]) if why.contains("Unable to locate package") => {
            apt(with_sudo, &["install", last], progress).await
        }
        (outcome, _) => outcome,
    }
}

/// Runs apt-get. Never kills it: an interrupted apt-get leaves its database locked or incomplete.
async fn apt(
    with_sudo: bool,
    arguments: &[&str],
    progress: ProgressListener<'_>,
) -> Result<(), String> {
    let mut command = if with_sudo { Command::new("sudo") } else { Command::new("env") };
    if with_sudo {
        command.args(["-n", "env"]);
    }
    command.args([
        "DEBIAN_FRONTEND=noninteractive",
        "LC_ALL=C",
        APT,
        "-y",
        "--no-install-recommends",
    ]);
    command.args(arguments);
    run(&mut command, &|line| {
        if ["Get:", "Need to get", "Unpacking", "Setting up"]
            .iter()
            .any(|start| line.starts_with(start))
        {
            progress(&format!("  {line}"));
        }
    })
    .await
    .map_err(|why| why.replacen("`env`", "apt-get", 1).replacen("`sudo`", "apt-get", 1))
}

/// Ubuntu's package of this name only installs a snap, which does not run in containers.
fn check_debian(os_release: &str) -> Result<(), String> {
    let field = |key: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map_or_else(String::new, |value| value.trim_matches('"').to_owned())
    };
    let (id, like) = (field("ID"), field("ID_LIKE"));
    let ubuntu = id == "ubuntu" || like.split(' ').any(|other| other == "ubuntu");
    match id.as_str() {
        _ if ubuntu => Err(format!("{id} has the browser as a snap only")),
        "debian" => Ok(()),
        _ if like.split(' ').any(|other| other == "debian") => Ok(()),
        _ => Err("this is not Debian".to_owned()),
    }
}

#[cfg(unix)]
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_its_derivatives_have_the_package_and_ubuntu_has_a_snap() {
        assert_eq!(check_debian("NAME=x\nID=debian\n"), Ok(()));
        assert_eq!(check_debian("ID=raspbian\nID_LIKE=debian\n"), Ok(()));
        assert!(check_debian("ID=ubuntu\nID_LIKE=debian\n").is_err());
        assert!(check_debian("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n").is_err());
        assert!(check_debian("ID=\"fedora\"\n").is_err());
        assert!(check_debian("").is_err());
    }
}
