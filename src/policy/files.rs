//! The files that a client may read and write. Over stdio: those below the output directory, the
//! download directory and the working directory. Over HTTP: only those below the output directory,
//! because the client has no working directory on this machine.
//!
//! Symbolic links are resolved before the check. This module does not interpret the files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
};

use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// The default output folder, in the working directory.
const DEFAULT_FOLDER: &str = "troupe-output";
/// Maximum number of names to try for a new file.
const MAX_SAME_NAMES: u32 = 10_000;

/// Returns the folder for files that tools write, and for downloads without `--download-path`.
/// Returns `None` if a bucket takes its place.
pub fn output_folder(config: &Config) -> Option<PathBuf> {
    let given = match &config.output_dir {
        Some(output) => Some(output.folder()?),
        None => None,
    };
    // Some clients start servers in the root directory, which is not a useful working directory.
    Some(match usable_working_directory(config) {
        Some(base) => base.join(given.unwrap_or(Path::new(DEFAULT_FOLDER))),
        None => std::env::temp_dir().join(given.map_or_else(users_folder, Path::to_path_buf)),
    })
}

/// Returns the folder for downloads. Returns `None` if a bucket takes its place.
pub fn download_folder(config: &Config) -> Option<PathBuf> {
    match &config.download_path {
        Some(path) => Some(config.working_directory.join(path)),
        None => output_folder(config),
    }
}

/// Returns the location of files that tools write, for messages.
fn output_location(config: &Config) -> String {
    match (&config.output_dir, output_folder(config)) {
        (_, Some(folder)) => folder.display().to_string(),
        (output, None) => output.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

/// Returns a folder name with the user name, for the shared temporary folder.
fn users_folder() -> PathBuf {
    #[cfg(unix)]
    return format!("{DEFAULT_FOLDER}-{}", nix::unistd::getuid()).into();
    #[cfg(not(unix))]
    DEFAULT_FOLDER.into()
}

/// Creates the folder. In the shared temporary folder, an existing one must belong to this user.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        let shared = folder.parent() == Some(std::env::temp_dir().as_path());
        let mode = if shared { 0o700 } else { 0o777 };
        fs::DirBuilder::new().recursive(true).mode(mode).create(folder)?;
        if shared && fs::symlink_metadata(folder)?.uid() != nix::unistd::getuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(folder)
}

/// Creates the file that a client names, in the output directory or at an accessible absolute path.
///
/// # Errors
/// If the file exists: files are never overwritten.
pub fn create_new(config: &Config, name: &str) -> Result<(PathBuf, File)> {
    let path = resolve_output(config, name)?;
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => Ok((path, file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(exists_error(&path.display().to_string()))
        }
        Err(error) => Err(unwritable(&path, &error)),
    }
}

/// Creates a new file in the output folder, or at an accessible absolute path. Files are never
/// overwritten: if the name is taken, the new file gets a number.
pub fn create_output(config: &Config, name: &str) -> Result<(PathBuf, File)> {
    let path = resolve_output(config, name)?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension =
        path.extension().map(|text| format!(".{}", text.to_string_lossy())).unwrap_or_default();
    let paths = (1..MAX_SAME_NAMES).map(|number| {
        path.with_file_name(match number {
            1 => format!("{stem}{extension}"),
            _ => format!("{stem}-{number}{extension}"),
        })
    });
    let Some((path, file)) = create_first_free(paths) else {
        let message = format!("too many files are named like `{name}`");
        return Err(TroupeError::new(ErrorCode::ResourceExhausted, message).retryable(false));
    };
    let file = file.map_err(|error| unwritable(&path, &error))?;
    Ok((path, file))
}

/// Creates the first file of `paths` that does not exist. Returns `None` if all exist.
pub fn create_first_free(
    mut paths: impl Iterator<Item = PathBuf>,
) -> Option<(PathBuf, io::Result<File>)> {
    paths.find_map(|path| match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
        created => Some((path, created)),
    })
}

/// Returns the path for a file of this name, and creates its folder. If a bucket takes the place of
/// the output directory, the name must be an absolute path.
pub fn resolve_output(config: &Config, name: &str) -> Result<PathBuf> {
    let folder = output_folder(config);
    let path = plain(&folder.as_deref().unwrap_or(Path::new("")).join(name));
    let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(refused(name, config));
    };
    let roots = roots(config);
    // Checked before folders are created, and again when links are resolved.
    if !below(&path, &roots) {
        return Err(refused(name, config));
    }
    if let Some(folder) = folder {
        make_folder(&folder).map_err(|error| unwritable(&folder, &error))?;
    }
    let roots = self::roots(config);
    if !leads_inside(parent, &roots) {
        return Err(refused(name, config));
    }
    fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
    let parent = parent.canonicalize().map_err(|error| unwritable(parent, &error))?;
    if below(&parent, &roots) { Ok(parent.join(file)) } else { Err(refused(name, config)) }
}

/// Returns the path for a file that a client names relative to the working directory, and creates
/// its folder. Over HTTP, the output directory takes the place of the working directory.
pub fn resolve_in_workspace(config: &Config, name: &str) -> Result<PathBuf> {
    if !config.shares_working_directory() {
        return resolve_output(config, name);
    }
    let path = plain(&config.working_directory.join(name));
    if config.security.allow_file_access {
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        return Ok(path);
    }
    // An existing file is overwritten. Through a link, this would overwrite the link's target.
    let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
    if is_link || !below(&path, &roots(config)) {
        return Err(denied(&path, config));
    }
    resolve_output(config, &path.display().to_string()).map_err(|error| match error.code {
        ErrorCode::BlockedByPolicy => denied(&path, config),
        _ => error,
    })
}

/// Returns the absolute path that a name relative to the working directory means. Over HTTP, the
/// output directory takes the place of the working directory.
pub fn in_workspace(config: &Config, name: &str) -> PathBuf {
    match config.shares_working_directory() {
        true => plain(&config.working_directory.join(name)),
        false => plain(&output_folder(config).unwrap_or_default().join(name)),
    }
}

/// Returns the real path of a file that a client names for reading, relative to the working
/// directory.
pub fn resolve_workspace_input(config: &Config, name: &str) -> Result<PathBuf> {
    let path = in_workspace(config, name);
    // The same message as Node's.
    let missing = || {
        let message = format!("ENOENT: no such file or directory, stat '{}'", path.display());
        TroupeError::new(ErrorCode::InvalidParameters, message)
    };
    if config.shares_working_directory() && config.security.allow_file_access {
        return path.canonicalize().map_err(|_| missing());
    }
    resolve_input(config, name).map_err(|error| match error.code {
        ErrorCode::BlockedByPolicy => denied(&path, config),
        _ => missing(),
    })
}

/// Returns the error for a path outside of the accessible directories, with the message of
/// @playwright/mcp.
fn denied(path: &Path, config: &Config) -> TroupeError {
    let roots = match config.shares_working_directory() {
        true => {
            format!("{}, {}", output_location(config), config.working_directory.display())
        }
        false => output_location(config),
    };
    TroupeError::new(
        ErrorCode::BlockedByPolicy,
        format!(
            "File access denied: {} is outside allowed roots. Allowed roots: {roots}",
            path.display()
        ),
    )
    .detail("rule", "files")
}

/// Returns the real path of a file that a client names for reading.
///
/// A relative name is looked up in the working directory (stdio only), then in the output
/// directory.
pub fn resolve_input(config: &Config, name: &str) -> Result<PathBuf> {
    let roots = roots(config);
    let bases = config.shares_working_directory().then(|| config.working_directory.clone());
    let candidates: Vec<PathBuf> = bases
        .into_iter()
        .chain(output_folder(config))
        .map(|base| plain(&base.join(name)))
        .collect();
    for path in &candidates {
        // A path outside is not accessed: even its absence would reveal something.
        if !below(path, &roots) {
            continue;
        }
        match path.canonicalize() {
            Ok(real) if below(&real, &roots) => return Ok(real),
            Ok(_) => return Err(refused(name, config)),
            // Nor is the target of a link that leads outside.
            Err(_) if !leads_inside(path, &roots) => return Err(refused(name, config)),
            Err(_) if Path::new(name).is_absolute() => {
                return Err(missing(name, std::slice::from_ref(path)));
            }
            Err(_) => {}
        }
    }
    if candidates.iter().all(|path| !below(path, &roots)) {
        return Err(refused(name, config));
    }
    Err(missing(name, &candidates))
}

/// Returns whether the existing part of `path` is accessible, with links resolved.
fn leads_inside(path: &Path, roots: &[PathBuf]) -> bool {
    let existing = path.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
    existing.is_some_and(|existing| below(&existing, roots))
}

/// Returns the working directory. Returns `None` for the root directory, where some clients start
/// their servers, and for a directory that does not exist: a client can declare such a root.
fn usable_working_directory(config: &Config) -> Option<&Path> {
    let folder = Some(config.working_directory.as_path());
    folder.filter(|folder| folder.parent().is_some() && folder.is_dir())
}

/// Returns the accessible directories, each as written and with links resolved.
fn roots(config: &Config) -> Vec<PathBuf> {
    // Clients of the socket run as the same user, and pass absolute paths.
    if config.socket.is_some() {
        return vec![PathBuf::from(std::path::MAIN_SEPARATOR_STR)];
    }
    let mut folders = Vec::from_iter(output_folder(config));
    if config.shares_working_directory() {
        folders.extend(download_folder(config));
        folders.extend(usable_working_directory(config).map(Path::to_path_buf));
    }
    let mut roots = Vec::new();
    let working_directory = config.working_directory.canonicalize().ok();
    for folder in folders {
        let real = folder.canonicalize().ok();
        // A repository can contain the default folder as a link.
        let is_trusted = |real: &PathBuf| {
            !config.has_default_output()
                || working_directory.as_ref().is_some_and(|root| real.starts_with(root))
                || config.download_path.as_ref().is_some_and(|path| folder.ends_with(path))
        };
        roots.extend(real.filter(is_trusted));
        roots.push(plain(&folder));
    }
    roots
}

fn below(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Returns the path with `.` and `..` removed, without resolving links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Returns the error for a name that leads outside of the accessible locations.
pub fn refused(name: &str, config: &Config) -> TroupeError {
    let reach = if config.shares_working_directory() {
        "outside of the output directory and the working directory"
    } else {
        "outside of the output directory, the only one that clients over HTTP can use"
    };
    TroupeError::new(ErrorCode::BlockedByPolicy, format!("`{name}` is {reach}"))
        .detail("rule", "files")
        .detail("path", name)
        .suggestion(format!(
            "pass a path below `{}`, or start the server with --output-dir",
            output_location(config)
        ))
}

fn missing(name: &str, places: &[PathBuf]) -> TroupeError {
    not_found(name, places.iter().map(|place| place.display().to_string()))
}

/// Returns the error for a file that is in none of `places`.
pub fn not_found(name: &str, places: impl IntoIterator<Item = String>) -> TroupeError {
    let places: Vec<String> = places.into_iter().map(|place| format!("`{place}`")).collect();
    TroupeError::new(
        ErrorCode::InvalidParameters,
        format!("there is no file `{name}`: looked for {}", places.join(" and ")),
    )
    .detail("path", name)
    .suggestion("pass the `path` of an existing file")
}

/// Returns the error for a new file whose name is taken.
pub fn exists_error(path: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::InvalidParameters,
        format!("the file `{path}` exists, and existing files are not overwritten"),
    )
    .detail("path", path)
    .suggestion("pass another `path`, or delete the file")
}

/// Returns the error for a file that cannot be written.
pub fn unwritable(path: &Path, error: &std::io::Error) -> TroupeError {
    TroupeError::new(
        ErrorCode::BrowserError,
        format!("`{}` cannot be written: {error}", path.display()),
    )
    .detail("path", path.display().to_string())
    .suggestion("start the server with --output-dir and a folder that it may write to")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Transport;

    fn working_directory() -> PathBuf {
        Config::default().working_directory
    }

    /// A folder for one test, which is removed after the test.
    struct TemporaryFolder(PathBuf);

    impl TemporaryFolder {
        fn new() -> Self {
            let path = std::env::temp_dir().join(format!("troupe-files-{}", uuid::Uuid::new_v4()));
            fs::create_dir_all(path.join("output")).unwrap();
            Self(path.canonicalize().unwrap())
        }

        fn config(&self) -> Config {
            Config { output_dir: Some(self.0.join("output").into()), ..Config::default() }
        }
    }

    impl Drop for TemporaryFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn code<T: std::fmt::Debug>(result: Result<T>) -> ErrorCode {
        result.unwrap_err().code
    }

    #[test]
    fn downloads_and_files_of_tools_go_to_one_folder_by_default() {
        let here = Config::default();
        assert_eq!(output_folder(&here), Some(working_directory().join(DEFAULT_FOLDER)));
        assert_eq!(download_folder(&here), output_folder(&here));
        let named = Config { output_dir: Some("out".into()), ..Config::default() };
        assert_eq!(download_folder(&named), Some(working_directory().join("out")));
        let apart = Config { download_path: Some("loads".into()), ..named };
        assert_eq!(download_folder(&apart), Some(working_directory().join("loads")));
        assert_eq!(output_folder(&apart), Some(working_directory().join("out")));
    }

    #[test]
    fn new_files_get_a_number_and_overwrite_nothing() {
        let folder = TemporaryFolder::new();
        let names: Vec<_> = (0..3)
            .map(|_| create_output(&folder.config(), "a/report.pdf").unwrap().0)
            .map(|path| {
                path.strip_prefix(folder.0.join("output")).unwrap().to_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(names, ["a/report.pdf", "a/report-2.pdf", "a/report-3.pdf"]);
    }

    #[test]
    fn a_named_file_that_exists_is_an_error() {
        let folder = TemporaryFolder::new();
        let path = create_new(&folder.config(), "state.json").unwrap().0;
        assert_eq!(path, folder.0.join("output/state.json"));
        let error = create_new(&folder.config(), "state.json").unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParameters);
        assert!(error.message.contains("state.json` exists"), "{error}");
    }

    #[test]
    fn nothing_is_written_outside() {
        let folder = TemporaryFolder::new();
        let config = folder.config();
        let absolute = folder.0.join("beside.txt");
        for name in
            ["../beside.txt", "a/../../beside.txt", absolute.to_str().unwrap(), "/etc/x", "..", ""]
        {
            assert_eq!(code(create_output(&config, name)), ErrorCode::BlockedByPolicy, "{name}");
        }
        assert!(!absolute.exists());
        assert!(create_output(&config, folder.0.join("output/in.txt").to_str().unwrap()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_an_outside_path_is_rejected() {
        let folder = TemporaryFolder::new();
        let config = folder.config();
        fs::write(folder.0.join("secret.txt"), "secret").unwrap();
        std::os::unix::fs::symlink(&folder.0, folder.0.join("output/link")).unwrap();
        std::os::unix::fs::symlink(folder.0.join("secret.txt"), folder.0.join("output/file"))
            .unwrap();
        assert_eq!(code(create_output(&config, "link/new/beside.txt")), ErrorCode::BlockedByPolicy);
        assert!(!folder.0.join("new").exists(), "a rejected path creates no folder");
        assert_eq!(code(resolve_input(&config, "link/secret.txt")), ErrorCode::BlockedByPolicy);
        assert_eq!(code(resolve_input(&config, "file")), ErrorCode::BlockedByPolicy);
    }

    /// Paths of known traversal attacks. `OUT` is a folder next to the output folder.
    #[cfg(unix)]
    const TRAVERSAL_PATHS: &[&str] = &[
        "..",
        "../",
        "../x",
        "./../x",
        "../../x",
        "a/../../x",
        "a/b/../../../x",
        "a/./../../x",
        "a//..//..//x",
        "../output/../x",
        "../output2/x",
        "../outputx",
        "OUT/x",
        "OUT/../x",
        "/x",
        "//x",
        "///etc/passwd",
        "/etc/passwd",
        "/etc/../etc/passwd",
        "/./etc/passwd",
        "/etc/shadow",
        "/root/.ssh/id_rsa",
        "/proc/self/environ",
        "/proc/self/cwd/../../../../../../../etc/passwd",
        "/proc/1/root/etc/passwd",
        "/proc/self/fd/0",
        "/dev/stdin",
        "/dev/shm/x",
        "/var/run/x",
        "../../../../../../../../../../../../etc/passwd",
        "link/x",
        "link/new/x",
        "./link/x",
        "a/../link/x",
        "link/deep/x",
        "link/../../x",
        "inner/link/x",
        "chain/x",
    ];

    #[cfg(unix)]
    #[test]
    fn no_name_gives_access_to_outside_files() {
        let folder = TemporaryFolder::new();
        let config = folder.config();
        let out = folder.0.join("out");
        fs::create_dir_all(folder.0.join("output/inner")).unwrap();
        fs::create_dir_all(out.join("deep")).unwrap();
        fs::write(out.join("x"), "secret").unwrap();
        fs::write(folder.0.join("x"), "secret").unwrap();
        let link =
            |from: &str, to: &Path| std::os::unix::fs::symlink(to, folder.0.join(from)).unwrap();
        link("output/link", &out);
        link("output/inner/link", &out);
        link("output/chain", Path::new("link"));
        let before = listing(&folder.0);
        for name in TRAVERSAL_PATHS {
            let name = name.replace("OUT", out.to_str().unwrap());
            let refused = |result: Result<PathBuf>| match result {
                Err(error) => assert_eq!(error.code, ErrorCode::BlockedByPolicy, "{name}: {error}"),
                Ok(path) => panic!("{name} led to {}", path.display()),
            };
            refused(resolve_output(&config, &name));
            refused(create_output(&config, &name).map(|(path, _)| path));
            refused(resolve_input(&config, &name));
        }
        assert_eq!(listing(&folder.0), before, "a rejected path creates nothing");
    }

    /// Returns everything below `folder`. Does not follow links.
    #[cfg(unix)]
    fn listing(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                found.extend(listing(&entry.path()));
            }
            found.push(entry.path());
        }
        found.sort();
        found
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
        /// For every name, the created file is below the folder, also through symbolic links.
        #[cfg(unix)]
        #[test]
        fn created_files_are_inside_the_output_folder(parts in proptest::collection::vec(
            proptest::sample::select(vec!["..", ".", "a", "link", "", "%2e%2e", "..%2f", "~", "...", "..\\", "\u{ff0e}\u{ff0e}", "a\0b", "x.txt"]),
            1..6,
        )) {
            let folder = TemporaryFolder::new();
            std::os::unix::fs::symlink(&folder.0, folder.0.join("output/link")).unwrap();
            if let Ok((path, _)) = create_output(&folder.config(), &parts.join("/")) {
                let real = path.canonicalize().unwrap();
                proptest::prop_assert!(real.starts_with(folder.0.join("output")), "{}", real.display());
            }
        }
    }

    #[test]
    fn only_accessible_files_are_read() {
        let folder = TemporaryFolder::new();
        let config = folder.config();
        let inside = folder.0.join("output/in.txt");
        fs::write(&inside, "x").unwrap();
        assert_eq!(resolve_input(&config, "in.txt").unwrap(), inside);
        assert_eq!(resolve_input(&config, inside.to_str().unwrap()).unwrap(), inside);
        assert!(
            resolve_input(&config, "Cargo.toml").is_ok(),
            "files in the working directory are accessible"
        );
        assert_eq!(code(resolve_input(&config, "nothing.txt")), ErrorCode::InvalidParameters);
        for name in ["/etc/passwd", "../../../../../../../etc/passwd", "/nothing/there"] {
            assert_eq!(code(resolve_input(&config, name)), ErrorCode::BlockedByPolicy, "{name}");
        }
    }

    #[test]
    fn over_http_only_the_output_directory_is_accessible() {
        let folder = TemporaryFolder::new();
        let inside = folder.0.join("output/in.txt");
        fs::create_dir(folder.0.join("downloads")).unwrap();
        for path in ["output/in.txt", "secret.txt", "downloads/file.txt"] {
            fs::write(folder.0.join(path), "x").unwrap();
        }
        for transport in [Transport::Http, Transport::Websocket] {
            let config = Config {
                transport,
                working_directory: folder.0.clone(),
                download_path: Some("downloads".into()),
                ..folder.config()
            };
            assert_eq!(resolve_input(&config, "in.txt").unwrap(), inside);
            assert_eq!(code(resolve_input(&config, "nothing.txt")), ErrorCode::InvalidParameters);
            let absolute = folder.0.join("secret.txt");
            for name in ["../secret.txt", absolute.to_str().unwrap(), "../downloads/file.txt"] {
                assert_eq!(
                    code(resolve_input(&config, name)),
                    ErrorCode::BlockedByPolicy,
                    "{name}"
                );
                assert_eq!(
                    code(create_output(&config, name)),
                    ErrorCode::BlockedByPolicy,
                    "{name}"
                );
            }
            // A file in the working directory counts as missing.
            assert_eq!(code(resolve_input(&config, "secret.txt")), ErrorCode::InvalidParameters);
        }
        let stdio = Config { working_directory: folder.0.clone(), ..folder.config() };
        assert_eq!(resolve_input(&stdio, "secret.txt").unwrap(), folder.0.join("secret.txt"));
    }

    #[test]
    fn the_working_directory_is_the_one_at_startup() {
        let folder = TemporaryFolder::new();
        let config = Config { working_directory: folder.0.clone(), ..Config::default() };
        assert_eq!(output_folder(&config), Some(folder.0.join(DEFAULT_FOLDER)));
        fs::write(folder.0.join("here.txt"), "x").unwrap();
        assert_eq!(resolve_input(&config, "here.txt").unwrap(), folder.0.join("here.txt"));
    }
}
