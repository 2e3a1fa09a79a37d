//! The files that tools write and read: in folders of this machine (with the rules of
//! [`crate::policy::files`]) or, with `--output-dir s3://BUCKET/PREFIX`, in a bucket.
//!
//! With a bucket, names that are relative to the output directory mean objects below its prefix.
//! Absolute paths, and files in the working directory of a client over stdio, stay on this machine.

mod bucket;
mod http_client;

use std::{
    fmt, fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use self::bucket::{Content, S3Bucket};
use crate::{
    config::{Config, OutputDir, S3},
    error::{ErrorCode, Result, TroupeError},
    policy::files,
    private,
};

/// Maximum size of an object that is copied to this machine for an upload to a page.
const MAX_UPLOAD_SIZE: u64 = 2 << 30;

/// The files of a server.
#[derive(Debug, Clone, Default)]
pub struct FileStore {
    config: Arc<Config>,
    /// The bucket that takes the place of the output directory, or why it cannot be used.
    bucket: Option<Result<Arc<S3Bucket>>>,
}

/// The location of a file, as results name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLocation {
    Local(PathBuf),
    /// The URL of an object.
    Object(String),
}

impl fmt::Display for FileLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => path.display().fmt(f),
            Self::Object(url) => f.write_str(url),
        }
    }
}

/// What relative names are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameBase {
    /// The output directory. Files to read are looked up in the working directory first (stdio
    /// only).
    Output,
    /// The working directory, as in @playwright/mcp. Over HTTP, the output directory.
    Workspace,
}

/// What happens if the name of a new file is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    Fail,
    /// The new file gets another name.
    Rename,
}

/// A file that a client names for reading.
#[derive(Debug)]
pub struct InputFile {
    /// The name that the client gave.
    name: String,
    place: InputPlace,
    /// The local path that was searched first, without success. For the error message.
    searched: Option<PathBuf>,
}

#[derive(Debug)]
enum InputPlace {
    Local(PathBuf),
    Object(StoredObject),
}

/// An object below the prefix, which may not exist.
#[derive(Debug)]
struct StoredObject {
    bucket: Arc<S3Bucket>,
    key: object_store::path::Path,
}

impl StoredObject {
    fn url(&self) -> String {
        self.bucket.url(&self.key)
    }
}

impl FileStore {
    /// Opens the bucket of `--output-dir`, if there is one. Sends no request.
    pub fn open(config: &Arc<Config>) -> Self {
        let url = config.output_dir.as_ref().and_then(OutputDir::bucket);
        let bucket = url.map(|url| S3Bucket::open(url).map(Arc::new));
        Self { config: config.clone(), bucket }
    }

    /// Returns the same files for a client with its own working directory, which is in `config`.
    pub fn with_config(&self, config: &Arc<Config>) -> Self {
        Self { config: config.clone(), ..self.clone() }
    }

    /// Fails if the bucket cannot be used: its environment variables are not valid.
    pub fn validate(&self) -> Result<()> {
        match &self.bucket {
            Some(Err(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Writes and deletes an object in the bucket. Returns its URL; `None` if there is no bucket.
    pub async fn check_bucket(&self) -> Result<Option<String>> {
        let Some(bucket) = &self.bucket else { return Ok(None) };
        bucket.clone()?.check().await?;
        Ok(self.config.output_dir.as_ref().map(ToString::to_string))
    }

    /// Whether a bucket takes the place of the output directory.
    pub fn has_bucket(&self) -> bool {
        self.bucket.is_some()
    }

    /// Fails if no file of this name may be written. Creates its folder.
    pub async fn check_output(&self, name: &str) -> Result<()> {
        if self.object(NameBase::Output, name)?.is_some() {
            return Ok(());
        }
        let (config, name) = (self.config.clone(), name.to_owned());
        run_blocking(move || files::resolve_output(&config, &name).map(drop)).await
    }

    /// Writes a new file. A secret file is readable only by this user.
    pub async fn create(
        &self,
        name: &str,
        if_exists: IfExists,
        is_secret: bool,
        bytes: Vec<u8>,
    ) -> Result<FileLocation> {
        if let Some(StoredObject { bucket, key }) = self.object(NameBase::Output, name)? {
            let key = bucket.create(&key, Content::Bytes(bytes), if_exists).await?;
            return Ok(FileLocation::Object(bucket.url(&key)));
        }
        let (config, name) = (self.config.clone(), name.to_owned());
        run_blocking(move || {
            let (path, mut file) = match if_exists {
                IfExists::Fail => files::create_new(&config, &name)?,
                IfExists::Rename => files::create_output(&config, &name)?,
            };
            let restricted = if is_secret { private::restrict(&path) } else { Ok(()) };
            let written = restricted.and_then(|()| file.write_all(&bytes));
            written.map_err(|error| files::unwritable(&path, &error))?;
            Ok(FileLocation::Local(path))
        })
        .await
    }

    /// Writes a file in the workspace. Replaces an existing one, unless the server is read-only.
    pub async fn replace(
        &self,
        name: &str,
        is_secret: bool,
        bytes: Vec<u8>,
    ) -> Result<FileLocation> {
        if let Some(StoredObject { bucket, key }) = self.object(NameBase::Workspace, name)? {
            if self.config.read_only {
                let key = bucket.create(&key, Content::Bytes(bytes), IfExists::Fail).await?;
                return Ok(FileLocation::Object(bucket.url(&key)));
            }
            bucket.replace(&key, bytes).await?;
            return Ok(FileLocation::Object(bucket.url(&key)));
        }
        let (config, name) = (self.config.clone(), name.to_owned());
        run_blocking(move || {
            let path = files::resolve_in_workspace(&config, &name)?;
            if config.read_only && path.exists() {
                let message = format!("`{name}` exists, and this server is read-only");
                return Err(TroupeError::new(ErrorCode::InvalidParameters, message));
            }
            let written = fs::write(&path, bytes);
            let restrict = || if is_secret { private::restrict(&path) } else { Ok(()) };
            written.and_then(|()| restrict()).map_err(|error| files::unwritable(&path, &error))?;
            Ok(FileLocation::Local(path))
        })
        .await
    }

    /// Returns the location that a name relative to the workspace means.
    pub fn name_in_workspace(&self, name: &str) -> String {
        match self.object(NameBase::Workspace, name) {
            Ok(Some(object)) => object.url(),
            _ => files::in_workspace(&self.config, name).display().to_string(),
        }
    }

    /// Finds a file that a client names for reading. An object may not exist.
    pub async fn find(&self, base: NameBase, name: &str) -> Result<InputFile> {
        let object = self.object(base, name)?;
        let (config, name) = (self.config.clone(), name.to_owned());
        let is_url = name.starts_with(S3);
        let object = match object {
            Some(object) if is_url || !config.shares_working_directory() => {
                let place = InputPlace::Object(object);
                return Ok(InputFile { name, place, searched: None });
            }
            object => object,
        };
        let (searched, wanted) = (files::in_workspace(&config, &name), name.clone());
        let local = run_blocking(move || match base {
            NameBase::Output => files::resolve_input(&config, &wanted),
            NameBase::Workspace => files::resolve_workspace_input(&config, &wanted),
        });
        match (local.await, object) {
            (Ok(path), _) => Ok(InputFile { name, place: InputPlace::Local(path), searched: None }),
            (Err(error), Some(object)) if error.code != ErrorCode::BlockedByPolicy => {
                let place = InputPlace::Object(object);
                Ok(InputFile { name, place, searched: Some(searched) })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Returns paths of files that a client names for reading. Copies objects into a folder that
    /// `new_folder` creates; it blocks.
    pub async fn local_paths(
        &self,
        base: NameBase,
        names: &[String],
        new_folder: impl Fn() -> io::Result<PathBuf> + Clone + Send + 'static,
    ) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for name in names {
            let file = self.find(base, name).await?;
            paths.push(file.local_path(new_folder.clone()).await?);
        }
        Ok(paths)
    }

    /// Returns the folder for downloads on this machine; `None` if they are stored in the bucket.
    pub fn download_folder(&self) -> Option<PathBuf> {
        files::download_folder(&self.config)
    }

    /// Stores the file `from` as a new object `name` in the bucket.
    pub async fn upload(&self, from: &Path, name: &str) -> Result<FileLocation> {
        let Some(StoredObject { bucket, key }) = self.object(NameBase::Output, name)? else {
            return Err(files::refused(name, &self.config));
        };
        let key = bucket.create(&key, Content::File(from), IfExists::Rename).await?;
        Ok(FileLocation::Object(bucket.url(&key)))
    }

    /// Returns the object that `name` means; `None` if it is a path on this machine.
    fn object(&self, base: NameBase, name: &str) -> Result<Option<StoredObject>> {
        let Some(bucket) = self.bucket.clone() else { return Ok(None) };
        let is_absolute = Path::new(name).has_root() || Path::new(name).is_absolute();
        let is_in_workspace = base == NameBase::Workspace && self.config.shares_working_directory();
        if !name.starts_with(S3) && (is_absolute || is_in_workspace) {
            return Ok(None);
        }
        let bucket = bucket?;
        match bucket.key(name) {
            Some(key) => Ok(Some(StoredObject { bucket, key })),
            None => Err(files::refused(name, &self.config)),
        }
    }
}

impl InputFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If it does not exist, or has more than `limit` bytes.
    pub async fn read(&self, limit: u64) -> Result<Vec<u8>> {
        match &self.place {
            InputPlace::Local(path) => {
                let path = path.clone();
                run_blocking(move || read_file(&path, limit)).await
            }
            InputPlace::Object(object) => {
                let bytes = object.bucket.read(&object.key, limit).await?;
                bytes.ok_or_else(|| self.missing(object))
            }
        }
    }

    /// Returns a path of the file. Copies an object into the folder that `new_folder` creates.
    async fn local_path(
        self,
        new_folder: impl FnOnce() -> io::Result<PathBuf> + Send + 'static,
    ) -> Result<PathBuf> {
        let object = match &self.place {
            InputPlace::Local(path) => return Ok(path.clone()),
            InputPlace::Object(object) => object,
        };
        let folder = run_blocking(move || {
            new_folder().map_err(|error| files::unwritable(&std::env::temp_dir(), &error))
        });
        let path = folder.await?.join(local_name(object.key.filename().unwrap_or_default()));
        match object.bucket.fetch(&object.key, &path, MAX_UPLOAD_SIZE).await? {
            true => Ok(path),
            false => Err(self.missing(object)),
        }
    }

    fn missing(&self, object: &StoredObject) -> TroupeError {
        let searched = self.searched.iter().map(|path| path.display().to_string());
        files::not_found(&self.name, searched.chain([object.url()]))
    }
}

impl fmt::Display for InputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            InputPlace::Local(path) => path.display().fmt(f),
            InputPlace::Object(object) => f.write_str(&object.url()),
        }
    }
}

fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let unreadable = |reason: String| {
        let message = format!("`{}` {reason}", path.display());
        TroupeError::new(ErrorCode::InvalidParameters, message)
    };
    let error = |error: io::Error| unreadable(format!("cannot be read: {error}"));
    let size = fs::metadata(path).map_err(error)?.len();
    if size > limit {
        return Err(unreadable(format!("has {size} bytes; the limit is {limit}")));
    }
    fs::read(path).map_err(error)
}

/// Converts the last part of a key into a name that stays in its folder on every system.
fn local_name(name: &str) -> String {
    name.chars().map(|c| if "\\/:*?\"<>|".contains(c) { '_' } else { c }).collect()
}

/// Runs blocking work on a thread of the blocking pool.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let message = format!("the call's background task failed: {error}");
        TroupeError::new(ErrorCode::InternalError, message)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Transport;

    /// The files of a server with a bucket, and its working directory.
    fn with_bucket(transport: Transport) -> (FileStore, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let output: OutputDir = "s3://files/agents".to_owned().try_into().unwrap();
        let bucket = S3Bucket::in_memory(output.bucket().unwrap());
        let config = Config {
            transport,
            working_directory: folder.path().canonicalize().unwrap(),
            output_dir: Some(output),
            ..Config::default()
        };
        let bucket = Some(Ok(Arc::new(bucket)));
        (FileStore { config: Arc::new(config), bucket }, folder)
    }

    async fn create(files: &FileStore, name: &str) -> Result<String> {
        let created = files.create(name, IfExists::Fail, false, b"content".into()).await;
        created.map(|location| location.to_string())
    }

    async fn read(files: &FileStore, base: NameBase, name: &str) -> Result<Vec<u8>> {
        files.find(base, name).await?.read(100).await
    }

    #[tokio::test]
    async fn over_http_only_the_prefix_is_accessible() {
        let (files, folder) = with_bucket(Transport::Http);
        let inside = folder.path().join("secret.txt");
        fs::write(&inside, "secret").unwrap();
        let url = create(&files, "a/page.txt").await.unwrap();
        assert_eq!(url, "s3://files/agents/a/page.txt");
        let replaced = files.replace("state.json", true, b"{}".into()).await.unwrap();
        assert_eq!(replaced.to_string(), "s3://files/agents/state.json");
        for base in [NameBase::Output, NameBase::Workspace] {
            assert_eq!(read(&files, base, "a/page.txt").await.unwrap(), b"content");
            assert_eq!(read(&files, base, &url).await.unwrap(), b"content");
            let missing = read(&files, base, "secret.txt").await.unwrap_err();
            assert_eq!(missing.code, ErrorCode::InvalidParameters);
            for name in ["../x", "s3://files/x", "s3://other/agents/x", inside.to_str().unwrap()] {
                let read = read(&files, base, name).await.unwrap_err();
                assert_eq!(read.code, ErrorCode::BlockedByPolicy, "{name}");
                let created = create(&files, name).await.unwrap_err();
                assert_eq!(created.code, ErrorCode::BlockedByPolicy, "{name}");
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn over_stdio_the_working_directory_is_accessible_too() {
        let (files, folder) = with_bucket(Transport::Stdio);
        let working_directory = folder.path().canonicalize().unwrap();
        fs::write(working_directory.join("local.txt"), "local").unwrap();
        create(&files, "page.txt").await.unwrap();
        assert_eq!(read(&files, NameBase::Output, "local.txt").await.unwrap(), b"local");
        assert_eq!(read(&files, NameBase::Output, "page.txt").await.unwrap(), b"content");
        let path = working_directory.join("page.txt");
        assert_eq!(create(&files, path.to_str().unwrap()).await.unwrap(), path.to_str().unwrap());
        let missing = read(&files, NameBase::Output, "none.txt").await.unwrap_err();
        for place in
            [working_directory.join("none.txt").to_str().unwrap(), "s3://files/agents/none"]
        {
            assert!(missing.message.contains(place), "{missing}");
        }
        assert_eq!(create(&files, "/etc/x").await.unwrap_err().code, ErrorCode::BlockedByPolicy);
    }

    #[tokio::test]
    async fn an_object_is_copied_for_the_browser() {
        let (files, folder) = with_bucket(Transport::Http);
        let url = create(&files, "a/page.txt").await.unwrap();
        let parent = folder.path().to_owned();
        let new_folder = move || Ok(tempfile::tempdir_in(&parent)?.keep());
        let names = [url, "a/page.txt".to_owned()];
        let paths = files.local_paths(NameBase::Output, &names, new_folder).await.unwrap();
        assert_ne!(paths[0], paths[1]);
        for path in paths {
            assert!(path.starts_with(folder.path()) && path.ends_with("page.txt"));
            assert_eq!(fs::read(path).unwrap(), b"content");
        }
    }

    #[test]
    fn a_key_of_another_client_stays_in_its_folder() {
        assert_eq!(local_name("..\\..\\a:b?.txt"), ".._.._a_b_.txt");
    }
}
