//! Caches the scripts that Firefox compiles at its first start, because compiling them is slow. A
//! later browser with a new profile gets a copy. The cache has no data of pages or
//! sessions.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;
use uuid::Uuid;

/// The folder of the compiled scripts in a profile.
const COMPILED_SCRIPTS: &str = "startupCache";
/// The file with the version of the compiled scripts. Firefox deletes scripts of another version.
const VERSION_FILE: &str = "compatibility.ini";

/// The cache for one browser executable, and the profile that uses it.
#[derive(Clone)]
pub(super) struct StartupCache {
    kept: PathBuf,
    profile: PathBuf,
}

impl StartupCache {
    /// Returns the cache for `program`. Returns `None` if the user has no cache directory.
    pub fn of(program: &Path, profile: &Path) -> Option<Self> {
        let cache = ProjectDirs::from("", "", "troupe")?.cache_dir().join("firefox");
        Some(Self { kept: cache.join(file_name(program)), profile: profile.to_owned() })
    }

    /// Copies the cached files into the new profile.
    pub fn restore(&self) {
        if let Err(error) = copy(&self.kept, &self.profile) {
            tracing::debug!(%error, "the startup cache cannot be used");
            // An incomplete copy must not be used.
            let _ = fs::remove_dir_all(self.profile.join(COMPILED_SCRIPTS));
            let _ = fs::remove_file(self.profile.join(VERSION_FILE));
        }
    }

    /// Returns whether the cache is missing, or has another version than the browser that ran in
    /// the profile.
    pub fn is_outdated(&self) -> bool {
        let version = |folder: &Path| fs::read(folder.join(VERSION_FILE)).ok();
        version(&self.kept).is_none_or(|kept| version(&self.profile) != Some(kept))
    }

    /// Stores the profile's files in the cache, after the browser has ended normally.
    pub fn store(&self) {
        if let Err(error) = self.replace() {
            tracing::debug!(%error, "the startup cache cannot be updated");
        }
    }

    fn replace(&self) -> io::Result<()> {
        let made = self.kept.with_extension(Uuid::new_v4().simple().to_string());
        fs::create_dir_all(&made)?;
        let replaced = copy(&self.profile, &made).and_then(|()| {
            match fs::remove_dir_all(&self.kept) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // Another server may have stored the same files in the meantime.
            fs::rename(&made, &self.kept)
        });
        let _ = fs::remove_dir_all(&made);
        replaced
    }
}

/// Converts a path into a file name.
fn file_name(program: &Path) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
    program
        .to_string_lossy()
        .chars()
        .map(|character| if is_plain(character) { character } else { '_' })
        .collect()
}

/// Copies the compiled scripts and then the version file. Scripts without that file are not used.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let compiled = fs::read_dir(from.join(COMPILED_SCRIPTS))?;
    fs::create_dir_all(to.join(COMPILED_SCRIPTS))?;
    for entry in compiled {
        let entry = entry?;
        fs::copy(entry.path(), to.join(COMPILED_SCRIPTS).join(entry.file_name()))?;
    }
    fs::copy(from.join(VERSION_FILE), to.join(VERSION_FILE)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A temporary folder, deleted on drop.
    struct TestFolder(PathBuf);

    impl Drop for TestFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn profile(parent: &Path, name: &str, version: &str) -> PathBuf {
        let profile = parent.join(name);
        fs::create_dir_all(profile.join(COMPILED_SCRIPTS)).unwrap();
        fs::write(profile.join(COMPILED_SCRIPTS).join("scripts.bin"), version).unwrap();
        fs::write(profile.join(VERSION_FILE), version).unwrap();
        profile
    }

    #[test]
    fn a_new_profile_gets_the_cached_scripts_until_the_version_changes() {
        let folder = TestFolder(std::env::temp_dir().join(Uuid::new_v4().simple().to_string()));
        let in_profile = |profile: PathBuf| StartupCache { kept: folder.0.join("kept"), profile };
        let first = in_profile(profile(&folder.0, "first", "1"));
        assert!(first.is_outdated());
        first.store();
        assert!(!first.is_outdated());

        let second = in_profile(folder.0.join("second"));
        second.restore();
        assert_eq!(fs::read(folder.0.join("second/startupCache/scripts.bin")).unwrap(), b"1");
        assert!(!second.is_outdated());

        let newer = in_profile(profile(&folder.0, "newer", "2"));
        assert!(newer.is_outdated());
        newer.store();
        assert!(!newer.is_outdated());
        assert_eq!(fs::read(folder.0.join("kept/startupCache/scripts.bin")).unwrap(), b"2");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 4, "no temporary folder is left");
    }

    #[test]
    fn an_incomplete_cache_is_not_used() {
        let folder = TestFolder(std::env::temp_dir().join(Uuid::new_v4().simple().to_string()));
        let kept = profile(&folder.0, "kept", "1");
        fs::remove_file(kept.join(VERSION_FILE)).unwrap();
        let profile = folder.0.join("profile");
        StartupCache { kept, profile: profile.clone() }.restore();
        assert!(!profile.join(COMPILED_SCRIPTS).exists());
    }
}
