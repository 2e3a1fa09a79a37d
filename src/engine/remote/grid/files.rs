//! Transfers files between this machine and the node of a Grid session.
//!
//! The browser reads and writes files on its node. The Grid transfers one file per request, as a
//! zip archive in Base64. The name of an entry in an archive is never used as a path.

use std::{
    borrow::Cow,
    fs::{self, File},
    io::{self, Cursor, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::client::{GridClient, GridResponse};
use crate::engine::{
    EngineError, EngineResult, PageEvent, PageObserver, connection::AttachFailure,
};

/// Maximum bytes of a file.
const MAX_FILE: u64 = 100 << 20;
/// Maximum bytes of a response with a file: Base64 has 4 characters for 3 bytes.
const MAX_RESPONSE: usize = 140 << 20;
/// Timeout for all files of an upload, and for each download.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of downloads that run or wait for their transfer.
const MAX_RUNNING: usize = 100;
/// When the node has this many transferred files, or files of this many bytes, they are deleted.
const MAX_LEFT_FILES: usize = 16;
const MAX_LEFT_BYTES: u64 = 64 << 20;
/// Maximum number of file names in an error.
const MAX_NAMES: usize = 5;

/// Access to the file endpoints of a Grid session.
pub(in crate::engine::remote) struct FileAccess {
    pub(super) client: Arc<GridClient>,
    /// The Grid's id of the session.
    pub(super) session: String,
    /// Whether the node has a folder for the downloads of the session.
    pub(super) keeps_downloads: bool,
    /// Limits the transfers of all sessions, because each holds a file in memory.
    pub(super) transfers: Arc<Semaphore>,
}

/// The files of a Grid session.
pub struct GridFiles {
    access: FileAccess,
    /// Canceled when the connection to the browser has closed. Ends the transfers.
    closed: CancellationToken,
    downloads: Mutex<NodeDownloads>,
}

#[derive(Default)]
struct NodeDownloads {
    /// The downloads that run or are being transferred.
    running: usize,
    /// The files on the node that were transferred, and their bytes.
    left_files: usize,
    left_bytes: u64,
    /// The folder of the transferred files. Removed with this value.
    folder: Option<Arc<TempDir>>,
}

/// The files that the node lists.
#[derive(Deserialize)]
struct NodeFiles {
    names: Vec<String>,
    /// Not in older versions of the Grid.
    #[serde(default)]
    files: Vec<NodeFile>,
}

#[derive(Deserialize)]
struct NodeFile {
    name: String,
    size: u64,
}

#[derive(Deserialize)]
struct NodeFileContents<'a> {
    /// A zip archive in Base64.
    #[serde(borrow)]
    contents: Cow<'a, str>,
}

impl GridFiles {
    pub(in crate::engine::remote) fn new(access: FileAccess, closed: CancellationToken) -> Self {
        Self { access, closed, downloads: Mutex::default() }
    }

    /// Returns whether the Grid has set the download folder of the browser. If it has, the browser
    /// must keep it, because the Grid transfers only files in that folder.
    pub fn has_download_folder(&self) -> bool {
        self.access.keeps_downloads
    }

    /// Uploads files to the node. Returns their paths there.
    pub async fn upload(&self, files: &[PathBuf]) -> EngineResult<Vec<PathBuf>> {
        let uploading = async {
            let mut paths = Vec::new();
            for file in files {
                let path = self.upload_file(file).await.map_err(|failure| {
                    let AttachFailure { reason, suggestion, .. } = failure;
                    let (file, grid) = (file.display(), &self.access.client.redacted_url);
                    EngineError::FileTransfer {
                        reason: format!(
                            "`{file}` was not uploaded to the Selenium Grid `{grid}`: {reason}"
                        ),
                        suggestion,
                    }
                })?;
                paths.push(path);
            }
            Ok(paths)
        };
        tokio::select! {
            uploaded = tokio::time::timeout(TRANSFER_TIMEOUT, uploading) => {
                uploaded.unwrap_or(Err(EngineError::TimedOut(TRANSFER_TIMEOUT)))
            }
            () = self.closed.cancelled() => Err(EngineError::BrowserGone),
        }
    }

    async fn upload_file(&self, file: &Path) -> Result<PathBuf, AttachFailure> {
        let _permit = self.access.transfers.acquire().await;
        let file = file.to_owned();
        let body =
            in_background(move || upload_body(&file)).await.map_err(|reason| AttachFailure {
                suggestion: Some("pass another file".to_owned()),
                ..AttachFailure::new(reason)
            })?;
        let response = self.request(Method::POST, "/se/file", Some(body)).await?;
        let response: GridResponse<PathBuf> =
            serde_json::from_slice(&response).map_err(|_| unreadable("POST se/file"))?;
        Ok(response.value)
    }

    /// Passes `event` on to `observer`. If a download has completed, first transfers its file to
    /// this machine.
    pub fn pass_on(self: &Arc<Self>, event: PageEvent, observer: &Arc<dyn PageObserver>) {
        match event {
            PageEvent::DownloadStarted(_) => self.downloads.lock().running += 1,
            PageEvent::DownloadEnded { file: Err(_), .. } => self.release_download(),
            PageEvent::DownloadEnded { id, file: Ok(path) } => {
                let (files, observer) = (self.clone(), observer.clone());
                tokio::spawn(async move {
                    let file = tokio::select! {
                        file = files.download(&path) => file,
                        () = files.closed.cancelled() => {
                            Err("the connection to the browser closed".to_owned())
                        }
                    };
                    files.release_download();
                    observer.event(PageEvent::DownloadEnded { id, file });
                });
                return;
            }
            _ => {}
        }
        observer.event(event);
    }

    fn release_download(&self) {
        let mut downloads = self.downloads.lock();
        downloads.running = downloads.running.saturating_sub(1);
    }

    /// Transfers the file at `path` of the node to this machine. Returns the path of the copy, or
    /// the reason why there is none.
    async fn download(&self, path: &Path) -> Result<PathBuf, String> {
        let path = path.to_string_lossy();
        // The node may run Windows.
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        let grid = &self.access.client.redacted_url;
        if !self.access.keeps_downloads {
            return Err(format!(
                "the file stays on the node of the Selenium Grid `{grid}`: the session has no \
                 managed downloads; start all nodes of this browser with --enable-managed-downloads \
                 true, or add --grid-capability se:downloadsEnabled=true to this server"
            ));
        }
        if self.downloads.lock().running > MAX_RUNNING {
            return Err(format!(
                "the file stays on the node of the Selenium Grid `{grid}`: more than {MAX_RUNNING} \
                 downloads wait for their transfer; start fewer downloads at once"
            ));
        }
        let transfer = tokio::time::timeout(TRANSFER_TIMEOUT, self.transfer_download(name)).await;
        let transfer = transfer.unwrap_or_else(|_| {
            Err(format!("no complete transfer in {} s", TRANSFER_TIMEOUT.as_secs()))
        });
        transfer.map_err(|reason| {
            format!("the file was not transferred from the Selenium Grid `{grid}`: {reason}")
        })
    }

    async fn transfer_download(&self, name: &str) -> Result<PathBuf, String> {
        let _permit = self.access.transfers.acquire().await;
        let reason = |failure: AttachFailure| failure.reason;
        let listed = self.request(Method::GET, "/se/files", None).await.map_err(reason)?;
        let listed: GridResponse<NodeFiles> =
            serde_json::from_slice(&listed).map_err(|_| unreadable("GET se/files").reason)?;
        listed.value.check(name)?;
        let body = json!({"name": name}).to_string();
        let response = self.request(Method::POST, "/se/files", Some(body)).await.map_err(reason)?;
        let folder = self.folder().await?;
        let (path, size) = in_background(move || store_download(&response, folder.path())).await?;
        self.delete_transferred(size).await;
        Ok(path)
    }

    async fn folder(&self) -> Result<Arc<TempDir>, String> {
        if let Some(folder) = self.downloads.lock().folder.clone() {
            return Ok(folder);
        }
        let create = || TempDir::with_prefix("troupe-grid-").map_err(|error| error.to_string());
        let created = Arc::new(in_background(create).await?);
        Ok(self.downloads.lock().folder.get_or_insert(created).clone())
    }

    /// Counts a transferred file of `size` bytes. Deletes the files on the node if they are many.
    async fn delete_transferred(&self, size: u64) {
        {
            let mut downloads = self.downloads.lock();
            downloads.left_files += 1;
            downloads.left_bytes += size;
            let is_many =
                downloads.left_files >= MAX_LEFT_FILES || downloads.left_bytes >= MAX_LEFT_BYTES;
            // The request also deletes the files of running downloads.
            if !is_many || downloads.running > 1 {
                return;
            }
            (downloads.left_files, downloads.left_bytes) = (0, 0);
        }
        self.delete_downloads().await;
    }

    /// Deletes all files in the download folder of the session.
    pub async fn delete_downloads(&self) {
        if let Err(failure) = self.request(Method::DELETE, "/se/files", None).await {
            let AttachFailure { reason, .. } = failure;
            tracing::warn!(reason, "cannot delete the downloads on a node of the Grid");
        }
    }

    /// Sends a request to an endpoint of the session.
    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Result<Vec<u8>, AttachFailure> {
        let path = format!("/session/{}{path}", self.access.session);
        self.access.client.transfer(method, &path, body, TRANSFER_TIMEOUT, MAX_RESPONSE).await
    }
}

impl NodeFiles {
    /// Fails if the node has no file `name`, or if the file is too large.
    fn check(&self, name: &str) -> Result<(), String> {
        if !self.names.iter().any(|listed| listed == name) {
            let mut found: Vec<_> =
                self.names.iter().take(MAX_NAMES).map(|listed| format!("`{listed}`")).collect();
            match self.names.len().saturating_sub(MAX_NAMES) {
                _ if found.is_empty() => found.push("no file".to_owned()),
                0 => {}
                more => found.push(format!("{more} more")),
            }
            return Err(format!(
                "the download folder has no `{name}`; it has {}",
                found.join(", ")
            ));
        }
        match self.files.iter().find(|file| file.name == name) {
            Some(file) => check_size(file.size),
            None => Ok(()),
        }
    }
}

fn unreadable(request: &str) -> AttachFailure {
    AttachFailure::new(format!("its response to `{request}` is not that of a Selenium Grid"))
}

fn check_size(bytes: u64) -> Result<(), String> {
    if bytes <= MAX_FILE {
        return Ok(());
    }
    Err(format!("the file has {bytes} bytes; files of up to {MAX_FILE} bytes are transferred"))
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Returns the body of the request that uploads the file at `path`.
fn upload_body(path: &Path) -> Result<String, String> {
    let reason = |error: io::Error| error.to_string();
    let file = File::open(path).map_err(reason)?;
    let metadata = file.metadata().map_err(reason)?;
    if !metadata.is_file() {
        return Err("it is not a file, and a Selenium Grid accepts only files".to_owned());
    }
    check_size(metadata.len())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    archive.start_file(name, options).map_err(|error| error.to_string())?;
    // The file may grow while it is read.
    let copied = io::copy(&mut file.take(MAX_FILE + 1), &mut archive).map_err(reason)?;
    check_size(copied)?;
    let archive = archive.finish().map_err(|error| error.to_string())?.into_inner();
    // Base64 needs no escapes in JSON.
    let mut body = String::from(r#"{"file":""#);
    STANDARD.encode_string(archive, &mut body);
    body.push_str(r#""}"#);
    Ok(body)
}

/// Writes the file of a response into `folder`. Returns its path and its size.
fn store_download(response: &[u8], folder: &Path) -> Result<(PathBuf, u64), String> {
    let response: GridResponse<NodeFileContents<'_>> =
        serde_json::from_slice(response).map_err(|_| unreadable("POST se/files").reason)?;
    let archive = STANDARD
        .decode(response.value.contents.as_bytes())
        .map_err(|error| format!("its contents are not Base64: {error}"))?;
    let unusable = |error| format!("its zip archive is not valid: {error}");
    let mut archive = ZipArchive::new(Cursor::new(archive)).map_err(unusable)?;
    if archive.len() != 1 {
        return Err(format!("its zip archive has {} entries instead of one file", archive.len()));
    }
    let entry = archive.by_index(0).map_err(unusable)?;
    if !entry.is_file() {
        return Err("its zip archive contains no file".to_owned());
    }
    let path = folder.join(uuid::Uuid::new_v4().simple().to_string());
    let write = || {
        let mut file = File::create_new(&path).map_err(|error| error.to_string())?;
        // The size in the archive may be wrong.
        let copied = io::copy(&mut entry.take(MAX_FILE + 1), &mut file);
        let copied = copied.map_err(|error| error.to_string())?;
        check_size(copied).map(|()| copied)
    };
    match write() {
        Ok(size) => Ok((path, size)),
        Err(reason) => {
            let _ = fs::remove_file(&path);
            Err(reason)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn response(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, contents) in entries {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(contents).unwrap();
        }
        let archive = archive.finish().unwrap().into_inner();
        let value = json!({"filename": "a.txt", "contents": STANDARD.encode(archive)});
        json!({"value": value}).to_string().into_bytes()
    }

    fn stored(folder: &TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    #[test]
    fn the_contents_of_an_uploaded_file_arrive() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("Übersicht 1.txt");
        fs::write(&path, "text").unwrap();
        let body: serde_json::Value = serde_json::from_str(&upload_body(&path).unwrap()).unwrap();
        let archive = STANDARD.decode(body["file"].as_str().unwrap()).unwrap();
        let mut archive = ZipArchive::new(Cursor::new(archive)).unwrap();
        let mut entry = archive.by_index(0).unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        assert_eq!((entry.name(), &*text), ("Übersicht 1.txt", "text"));
    }

    #[test]
    fn folders_and_large_files_are_not_uploaded() {
        let folder = TempDir::new().unwrap();
        assert!(upload_body(folder.path()).unwrap_err().contains("not a file"));
        let large = folder.path().join("large");
        File::create(&large).unwrap().set_len(MAX_FILE + 1).unwrap();
        assert!(upload_body(&large).unwrap_err().contains("104857601 bytes"));
    }

    #[test]
    fn names_in_an_archive_are_not_paths() {
        let folder = TempDir::new().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for name in ["../beside", "/tmp/beside", "..\\beside", "a/../../beside"] {
            let (path, size) = store_download(&response(&[(name, b"text")]), &inner).unwrap();
            assert_eq!(path.parent(), Some(&*inner));
            assert_eq!((fs::read_to_string(path).unwrap(), size), ("text".to_owned(), 4));
        }
        assert_eq!(stored(&folder), 1);
    }

    #[test]
    fn other_archives_are_rejected_and_leave_no_file() {
        let folder = TempDir::new().unwrap();
        let zeros = vec![0; usize::try_from(MAX_FILE).unwrap() + 1];
        for (body, reason) in [
            (response(&[]), "0 entries"),
            (response(&[("a", b"1"), ("b", b"2")]), "2 entries"),
            (response(&[("a/", b"")]), "no file"),
            (response(&[("a", &zeros)]), "104857601 bytes"),
            (br#"{"value":{"contents":"?"}}"#.to_vec(), "not Base64"),
            (br#"{"value":{"contents":"AAAA"}}"#.to_vec(), "not valid"),
            (b"{}".to_vec(), "not that of a Selenium Grid"),
        ] {
            let error = store_download(&body, folder.path()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert_eq!(stored(&folder), 0);
    }

    #[test]
    fn a_missing_file_names_those_that_exist() {
        let names = |count: usize| (0..count).map(|at| at.to_string()).collect();
        let error = |names| NodeFiles { names, files: Vec::new() }.check("a").unwrap_err();
        assert!(error(Vec::new()).ends_with("has no `a`; it has no file"));
        assert!(error(names(2)).ends_with("it has `0`, `1`"));
        assert!(error(names(7)).ends_with("`4`, 2 more"));
    }
}
