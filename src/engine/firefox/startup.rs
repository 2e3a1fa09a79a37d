//! Caches the scripts that Firefox compiles at its first start, which is more than half of the work of a start. A
//! later browser with a new profile gets a copy. The cache has no data of pages or sessions.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use directories::ProjectDirs;
use uuid::Uuid;

/// Where a profile has it…
const COMPILED: &str = "startupCache";
/// …and the version that they belong to: Firefox deletes those of another version.
const VERSION: &str = "compatibility.ini";

/// That of one program.
#[derive(Clone)]
pub(super) struct Startup {
    kept: PathBuf,
    profile: PathBuf,
}

impl Startup {
    /// What `program` is started with in `profile`; nothing where this user has no folder for it.
    pub fn of(program: &Path, profile: &Path) -> Option<Self> {
        let cache = ProjectDirs::from("", "", "troupe")?.cache_dir().join("firefox");
        Some(Self { kept: cache.join(name_of(program)), profile: profile.to_owned() })
    }

    /// Puts it into the profile, which is new.
    pub fn give(&self) {
        if let Err(error) = copy(&self.kept, &self.profile) {
            tracing::debug!(%error, "the browser starts with nothing compiled");
            // Not half of it.
            let _ = fs::remove_dir_all(self.profile.join(COMPILED));
            let _ = fs::remove_file(self.profile.join(VERSION));
        }
    }

    /// Whether it is not there, or of another version than the browser that has run in the profile.
    pub fn is_wanted(&self) -> bool {
        let version = |folder: &Path| fs::read(folder.join(VERSION)).ok();
        version(&self.kept).is_none_or(|kept| version(&self.profile) != Some(kept))
    }

    /// Takes the cached files out of the profile, after the browser has ended normally.
    pub fn take(&self) {
        if let Err(error) = self.replace() {
            tracing::debug!(%error, "what the browser has compiled could not be kept");
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
            // Where another server was quicker, its own is as good.
            fs::rename(&made, &self.kept)
        });
        let _ = fs::remove_dir_all(&made);
        replaced
    }
}

/// A path as the name of one file.
fn name_of(program: &Path) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
    program
        .to_string_lossy()
        .chars()
        .map(|character| if is_plain(character) { character } else { '_' })
        .collect()
}

/// Copies both, the compiled scripts first, so that incomplete ones are never used.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let compiled = fs::read_dir(from.join(COMPILED))?;
    fs::create_dir_all(to.join(COMPILED))?;
    for entry in compiled {
        let entry = entry?;
        fs::copy(entry.path(), to.join(COMPILED).join(entry.file_name()))?;
    }
    fs::copy(from.join(VERSION), to.join(VERSION)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of a test's own, gone with it.
    struct Place(PathBuf);

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn profile(folder: &Path, name: &str, version: &str) -> PathBuf {
        let profile = folder.join(name);
        fs::create_dir_all(profile.join(COMPILED)).unwrap();
        fs::write(profile.join(COMPILED).join("scripts.bin"), version).unwrap();
        fs::write(profile.join(VERSION), version).unwrap();
        profile
    }

    #[test]
    fn the_next_profile_has_what_the_last_has_compiled_until_the_version_changes() {
        let place = Place(std::env::temp_dir().join(Uuid::new_v4().simple().to_string()));
        let in_profile = |profile: PathBuf| Startup { kept: place.0.join("kept"), profile };
        let first = in_profile(profile(&place.0, "first", "1"));
        assert!(first.is_wanted());
        first.take();
        assert!(!first.is_wanted());

        let second = in_profile(place.0.join("second"));
        second.give();
        assert_eq!(fs::read(place.0.join("second/startupCache/scripts.bin")).unwrap(), b"1");
        assert!(!second.is_wanted());

        let newer = in_profile(profile(&place.0, "newer", "2"));
        assert!(newer.is_wanted());
        newer.take();
        assert!(!newer.is_wanted());
        assert_eq!(fs::read(place.0.join("kept/startupCache/scripts.bin")).unwrap(), b"2");
        assert_eq!(fs::read_dir(&place.0).unwrap().count(), 4, "nothing half made is left");
    }

    #[test]
    fn nothing_half_is_given() {
        let place = Place(std::env::temp_dir().join(Uuid::new_v4().simple().to_string()));
        let kept = profile(&place.0, "kept", "1");
        fs::remove_file(kept.join(VERSION)).unwrap();
        let profile = place.0.join("profile");
        Startup { kept, profile: profile.clone() }.give();
        assert!(!profile.join(COMPILED).exists());
    }
}
