//! Files in an S3 bucket.

use std::{error::Error as _, fmt, io, path::Path as LocalPath, sync::Arc, time::Duration};

use futures_util::{TryStreamExt, stream::FuturesUnordered};
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, GetResult, MultipartUpload, ObjectStore,
    ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    client::HttpError,
    path::Path,
};
use tokio::{
    fs::File,
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::Semaphore,
    time::timeout,
};

use super::{IfExists, http_client::S3Connector};
use crate::{
    config::{BucketUrl, S3, redacted_endpoint},
    error::{ErrorCode, Result, TroupeError, with_causes},
    policy::files,
};

/// Timeout for each request that deletes the parts or the empty object of a failed upload.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// A failed request is not repeated after this time.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_RETRIES: usize = 3;
/// The size of the parts of a file in bytes: the minimum of S3.
const PART: u64 = 5 << 20;
/// Maximum size in bytes of a request with content that is already in memory. A single request
/// leaves nothing behind if the call is canceled.
const MAX_REQUEST: u64 = 32 << 20;
/// Maximum number of parts of a file that are sent at a time.
const CONCURRENT_PARTS: usize = 2;
/// Maximum number of local files that are sent at a time. Limits the memory for their parts.
const CONCURRENT_FILES: usize = 4;
/// Maximum number of names to try for a new file.
const MAX_NAMES: usize = 3;

/// The objects below a prefix of a bucket.
pub(super) struct S3Bucket {
    url: BucketUrl,
    store: Arc<dyn ObjectStore>,
    /// The address of the server, for messages.
    endpoint: String,
    /// Whether the credentials are those of the machine, and not in environment variables.
    uses_machine_credentials: bool,
    /// A permit for each local file that is sent.
    sending: Semaphore,
}

/// The content of a new object.
pub(super) enum Content<'a> {
    Bytes(Vec<u8>),
    File(&'a LocalPath),
}

impl Content<'_> {
    async fn size(&self) -> io::Result<u64> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.len() as u64),
            Self::File(path) => Ok(tokio::fs::metadata(path).await?.len()),
        }
    }

    /// Returns the size from which the content is sent in parts.
    fn single_limit(&self) -> u64 {
        match self {
            Self::Bytes(_) => MAX_REQUEST,
            Self::File(_) => PART,
        }
    }

    async fn reader(&self) -> io::Result<Box<dyn AsyncRead + Send + Unpin + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(bytes.as_slice()),
            Self::File(path) => Box::new(File::open(path).await?),
        })
    }
}

/// An operation on an object, for messages.
#[derive(Debug, Clone, Copy)]
enum ObjectOperation {
    Write,
    Read,
    Delete,
}

impl ObjectOperation {
    fn failure(self) -> &'static str {
        match self {
            Self::Write => "cannot be written",
            Self::Read => "cannot be read",
            Self::Delete => "cannot be deleted",
        }
    }
}

/// Why an object was not copied.
enum CopyError {
    Store(Error),
    /// The file on this machine cannot be read or written.
    File(io::Error),
}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl fmt::Debug for S3Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.url.fmt(f)
    }
}

impl S3Bucket {
    /// Reads the endpoint, the region and the credentials from the `AWS_*` environment variables.
    /// Sends no request.
    pub fn open(url: &BucketUrl) -> Result<Self> {
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(url.bucket())
            .with_http_connector(S3Connector)
            .with_retry(RetryConfig {
                max_retries: MAX_RETRIES,
                retry_timeout: RETRY_TIMEOUT,
                ..RetryConfig::default()
            });
        let value = |key| builder.get_config_value(&key).filter(|text| !text.is_empty());
        let given = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
        let endpoint = given.into_iter().find_map(value);
        if let Some(endpoint) = &endpoint
            && !is_endpoint(endpoint)
        {
            return Err(invalid(
                url,
                format!("AWS_ENDPOINT_URL is `{}`", redacted_endpoint(endpoint)),
                "set AWS_ENDPOINT_URL to the http:// or https:// URL of the S3 server, without credentials",
            ));
        }
        let credentials = [
            AmazonS3ConfigKey::AccessKeyId,
            AmazonS3ConfigKey::WebIdentityTokenFile,
            AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
            AmazonS3ConfigKey::ContainerCredentialsFullUri,
        ];
        let uses_machine_credentials = credentials.into_iter().find_map(value).is_none();
        let region = value(AmazonS3ConfigKey::Region).unwrap_or_else(|| "us-east-1".to_owned());
        // The user has chosen a connection without TLS.
        let is_plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        builder = builder
            .with_allow_http(is_plain)
            // Computing a digest of the content would block an async thread. TLS protects the
            // content. Without TLS, a digest would protect only uploads, not downloads.
            .with_unsigned_payload(true)
            // Not every store deletes several objects at a time.
            .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
        let store = builder.build().map_err(|error| {
            // Does not contain values of the variables.
            let reason = innermost(&error);
            invalid(url, reason, "correct the AWS_* environment variables of the server")
        })?;
        Ok(Self {
            url: url.clone(),
            store: Arc::new(store),
            endpoint: endpoint.map_or_else(
                || format!("https://s3.{region}.amazonaws.com"),
                |endpoint| redacted_endpoint(&endpoint),
            ),
            uses_machine_credentials,
            sending: Semaphore::new(CONCURRENT_FILES),
        })
    }

    /// Returns the key of the object that `name` means: a URL, or a path relative to the prefix.
    /// Returns `None` if it is not below the prefix.
    pub fn key(&self, name: &str) -> Option<Path> {
        let prefix = || self.url.prefix().split('/').filter(|segment| !segment.is_empty());
        let (mut segments, path): (Vec<&str>, _) = match self.url.key(name) {
            Some(key) => (Vec::new(), key),
            None if name.starts_with(S3) => return None,
            None => (prefix().collect(), name),
        };
        for segment in path.split('/') {
            match segment {
                "" | "." => {}
                ".." => drop(segments.pop()?),
                segment => segments.push(segment),
            }
        }
        let is_below = segments.len() > prefix().count()
            && prefix().zip(&segments).all(|(expected, segment)| expected == *segment);
        if is_below { Path::parse(segments.join("/")).ok() } else { None }
    }

    /// Returns the URL of an object.
    pub fn url(&self, key: &Path) -> String {
        self.url.object(key.as_ref())
    }

    /// Writes a new object. If the name is taken, fails, or adds random digits to the name. Returns
    /// the key of the object.
    pub async fn create(
        &self,
        key: &Path,
        content: Content<'_>,
        if_exists: IfExists,
    ) -> Result<Path> {
        let _permit = match content {
            Content::File(_) => self.sending.acquire().await.ok(),
            Content::Bytes(_) => None,
        };
        let mut tried = key.clone();
        for _ in 0..MAX_NAMES {
            match self.put_new(&tried, &content).await {
                Ok(()) => return Ok(tried),
                Err(CopyError::Store(Error::AlreadyExists { .. })) => match if_exists {
                    IfExists::Fail => break,
                    IfExists::Rename => tried = with_digits(key),
                },
                Err(CopyError::Store(error)) => {
                    return Err(self.failure(ObjectOperation::Write, &tried, &error));
                }
                Err(CopyError::File(error)) => {
                    let reason = format!("its content cannot be read: {error}");
                    return Err(self.error(ObjectOperation::Write, &tried, &reason));
                }
            }
        }
        Err(files::exists_error(&self.url(key)))
    }

    /// Writes an object, and replaces one of the same name.
    pub async fn replace(&self, key: &Path, bytes: Vec<u8>) -> Result<()> {
        let options = PutOptions { attributes: attributes(key), ..PutOptions::default() };
        let put = self.store.put_opts(key, bytes.into(), options).await;
        put.map(drop).map_err(|error| self.failure(ObjectOperation::Write, key, &error))
    }

    /// Reads an object. Returns `None` if there is none.
    ///
    /// # Errors
    /// If it has more than `limit` bytes.
    pub async fn read(&self, key: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
        let Some(found) = self.get_up_to(key, limit).await? else { return Ok(None) };
        let mut bytes = Vec::new();
        match self.copy(key, found, &mut bytes).await {
            Ok(()) => Ok(Some(bytes)),
            Err(CopyError::Store(error)) => Err(self.failure(ObjectOperation::Read, key, &error)),
            Err(CopyError::File(error)) => {
                Err(self.error(ObjectOperation::Read, key, &error.to_string()))
            }
        }
    }

    /// Copies an object into the new file `to`. Returns false if there is no such object.
    ///
    /// # Errors
    /// If it has more than `limit` bytes.
    pub async fn fetch(&self, key: &Path, to: &LocalPath, limit: u64) -> Result<bool> {
        let Some(found) = self.get_up_to(key, limit).await? else { return Ok(false) };
        let copied = async {
            let mut file = File::create_new(to).await?;
            self.copy(key, found, &mut file).await?;
            Ok(file.flush().await?)
        };
        copied.await.map(|()| true).map_err(|error| match error {
            CopyError::Store(error) => self.failure(ObjectOperation::Read, key, &error),
            CopyError::File(error) => files::unwritable(to, &error),
        })
    }

    /// Writes and deletes an object.
    pub async fn check(&self) -> Result<()> {
        let name = format!(".troupe-doctor-{}", uuid::Uuid::new_v4());
        let Some(key) = self.key(&name) else { return Ok(()) };
        self.replace(&key, Vec::new()).await?;
        let deleted = self.store.delete(&key).await;
        deleted.map_err(|error| self.failure(ObjectOperation::Delete, &key, &error))
    }

    /// Requests an object. Returns `None` if there is none, and an error if it has more than
    /// `limit` bytes.
    async fn get_up_to(&self, key: &Path, limit: u64) -> Result<Option<GetResult>> {
        match self.store.get(key).await {
            Ok(found) if found.meta.size > limit => {
                let (url, size) = (self.url(key), found.meta.size);
                let message = format!("`{url}` has {size} bytes; the limit is {limit}");
                Err(TroupeError::new(ErrorCode::InvalidParameters, message))
            }
            Ok(found) => Ok(Some(found)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failure(ObjectOperation::Read, key, &error)),
        }
    }

    /// Copies the content of an object. Requests the parts of a large one separately.
    async fn copy(
        &self,
        key: &Path,
        found: GetResult,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> Result<(), CopyError> {
        let size = found.meta.size;
        if size <= PART {
            return Ok(to.write_all(&found.bytes().await?).await?);
        }
        let if_match = found.meta.e_tag.clone();
        drop(found);
        for start in (0..size).step_by(PART as usize) {
            let range = Some(GetRange::Bounded(start..size.min(start + PART)));
            let options = GetOptions { range, if_match: if_match.clone(), ..Default::default() };
            let part = self.store.get_opts(key, options).await?.bytes().await?;
            to.write_all(&part).await?;
        }
        Ok(())
    }

    /// Writes an object if its name is free.
    async fn put_new(&self, key: &Path, content: &Content<'_>) -> Result<(), CopyError> {
        let is_large = content.size().await? > content.single_limit();
        let mut bytes = Vec::new();
        if !is_large {
            content.reader().await?.take(content.single_limit()).read_to_end(&mut bytes).await?;
        }
        // An upload in parts replaces an object of the same name, so an empty one reserves it.
        let options =
            PutOptions { mode: PutMode::Create, attributes: attributes(key), ..Default::default() };
        self.store.put_opts(key, bytes.into(), options).await?;
        if !is_large {
            return Ok(());
        }
        let sent = self.put_parts(key, content).await;
        if sent.is_err() {
            // The error of the upload is the one to report.
            let _ = timeout(CLEANUP_TIMEOUT, self.store.delete(key)).await;
        }
        sent
    }

    /// Writes an object in parts.
    async fn put_parts(&self, key: &Path, content: &Content<'_>) -> Result<(), CopyError> {
        let reader = content.reader().await?;
        let options = PutMultipartOptions { attributes: attributes(key), ..Default::default() };
        let mut upload = self.store.put_multipart_opts(key, options).await?;
        let sent = send_parts(upload.as_mut(), reader).await;
        if sent.is_err() {
            let _ = timeout(CLEANUP_TIMEOUT, upload.abort()).await;
        }
        sent
    }

    /// Returns the error of a failed request. Contains no text of the server except the code of the
    /// error, because its message can contain credentials.
    fn failure(&self, operation: ObjectOperation, key: &Path, error: &Error) -> TroupeError {
        let (endpoint, bucket) = (&self.endpoint, self.url.bucket());
        let (reason, suggestion, is_retryable) = match BucketFailure::of(error) {
            BucketFailure::Unreachable(cause) if self.uses_machine_credentials => (
                format!(
                    "AWS_ACCESS_KEY_ID is not set, and either the credentials of this machine or `{endpoint}` cannot be reached ({cause})"
                ),
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the server",
                true,
            ),
            BucketFailure::Unreachable(cause) => (
                format!("the S3 server `{endpoint}` cannot be reached ({cause})"),
                "check that the S3 server runs and that AWS_ENDPOINT_URL is its URL, then call again",
                true,
            ),
            BucketFailure::NoBucket => (
                format!("the bucket `{bucket}` does not exist at `{endpoint}`"),
                "create the bucket, or start the server with another --output-dir",
                false,
            ),
            BucketFailure::Denied(code) => (
                format!("`{endpoint}` denied the request{code}"),
                "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION of the server, and that the key may read, write and delete objects of the bucket",
                false,
            ),
            BucketFailure::Busy(code) => (
                format!("`{endpoint}` is not available{code}"),
                "call again later: the S3 server is overloaded or has failed",
                true,
            ),
            BucketFailure::Other(code) => (
                format!("`{endpoint}` did not accept the request{code}"),
                "check AWS_ENDPOINT_URL and AWS_REGION of the server; the S3 server must support conditional writes (If-None-Match)",
                false,
            ),
        };
        self.error(operation, key, &reason).suggestion(suggestion).retryable(is_retryable)
    }

    fn error(&self, operation: ObjectOperation, key: &Path, reason: &str) -> TroupeError {
        let url = self.url(key);
        let message = format!("`{url}` {}: {reason}", operation.failure());
        TroupeError::new(ErrorCode::NetworkError, message).detail("path", url).retryable(false)
    }
}

/// Sends the parts of a file, and completes the upload.
async fn send_parts(
    upload: &mut dyn MultipartUpload,
    mut reader: Box<dyn AsyncRead + Send + Unpin + '_>,
) -> Result<(), CopyError> {
    let mut sending = FuturesUnordered::new();
    loop {
        let mut part = Vec::new();
        (&mut reader).take(PART).read_to_end(&mut part).await?;
        if part.is_empty() {
            break;
        }
        if sending.len() == CONCURRENT_PARTS {
            sending.try_next().await?;
        }
        sending.push(upload.put_part(part.into()));
    }
    while sending.try_next().await?.is_some() {}
    upload.complete().await?;
    Ok(())
}

/// Why a request failed. The texts are empty or ` (CODE)`.
#[derive(Debug, PartialEq)]
enum BucketFailure {
    Unreachable(String),
    NoBucket,
    Denied(String),
    Busy(String),
    Other(String),
}

impl BucketFailure {
    fn of(error: &Error) -> Self {
        let causes = || std::iter::successors(error.source(), |&cause| cause.source());
        if causes().any(|cause| cause.is::<HttpError>()) {
            return Self::Unreachable(innermost(error));
        }
        let text = with_causes(error);
        let code = code(&text);
        let status = text.split_once("status code: ").and_then(|(_, rest)| rest.get(..3));
        let shown = code.or(status).map(|code| format!(" ({code})")).unwrap_or_default();
        match (error, code, status) {
            (_, Some("NoSuchBucket"), _) => Self::NoBucket,
            (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, ..) => {
                Self::Denied(shown)
            }
            (
                _,
                Some("SlowDown" | "InternalError" | "ServiceUnavailable" | "RequestTimeout"),
                _,
            ) => Self::Busy(shown),
            (_, _, Some(status))
                if status.starts_with('5') && status != "501" || status == "429" =>
            {
                Self::Busy(shown)
            }
            _ => Self::Other(shown),
        }
    }
}

/// Whether there is no such object in an existing bucket.
fn is_missing(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. }) && BucketFailure::of(error) != BucketFailure::NoBucket
}

/// Returns the code in an XML error of S3.
fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_code = code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_code.then_some(code)
}

/// Returns the message of the first cause of an error.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    causes.last().map(ToString::to_string).unwrap_or_default()
}

/// Returns the metadata of an object: web browsers show a picture with its type.
fn attributes(key: &Path) -> Attributes {
    let kind = mime_guess::from_path(key.as_ref()).first_raw();
    kind.map(|kind| (Attribute::ContentType, kind)).into_iter().collect()
}

/// Adds random digits to a name: `page-3f2a9c1d.png`. Numbers would need a request for each earlier
/// file of the name.
fn with_digits(key: &Path) -> Path {
    let name = key.filename().unwrap_or_default();
    let (stem, extension) = match name.rfind('.') {
        Some(at) if at > 0 => name.split_at(at),
        _ => (name, ""),
    };
    let digits = uuid::Uuid::new_v4().simple().to_string();
    let name = format!("{stem}-{}{extension}", &digits[..8]);
    let folder = key.as_ref().rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
    let path = format!("{}{name}", folder.unwrap_or_default());
    Path::parse(path).unwrap_or_else(|_| key.clone())
}

fn is_endpoint(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        matches!(url.scheme(), "http" | "https") && url.has_host() && is_anonymous
    })
}

/// Returns the error for a bucket that cannot be opened.
fn invalid(url: &BucketUrl, reason: impl fmt::Display, suggestion: &str) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, format!("`{url}` cannot be used: {reason}"))
        .suggestion(suggestion)
}

#[cfg(test)]
impl S3Bucket {
    /// Creates a bucket in memory with the URL `url`.
    pub fn in_memory(url: &BucketUrl) -> Self {
        Self {
            url: url.clone(),
            store: Arc::new(object_store::memory::InMemory::new()),
            endpoint: "memory".to_owned(),
            uses_machine_credentials: false,
            sending: Semaphore::new(CONCURRENT_FILES),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::OutputDir;

    fn bucket(url: &str) -> S3Bucket {
        let output: OutputDir = url.to_owned().try_into().unwrap();
        S3Bucket::in_memory(output.bucket().unwrap())
    }

    fn key(name: &str) -> Path {
        bucket("s3://files/agents").key(name).unwrap()
    }

    #[test]
    fn a_name_means_an_object_below_the_prefix() {
        for (name, expected) in [
            ("page.png", "agents/page.png"),
            ("a/./b//c.png", "agents/a/b/c.png"),
            ("a/../b.png", "agents/b.png"),
            ("../agents/b.png", "agents/b.png"),
            ("s3://files/agents/a b.png", "agents/a b.png"),
            ("Übersicht%20.png", "agents/Übersicht%20.png"),
        ] {
            assert_eq!(key(name).as_ref(), expected, "{name}");
        }
        let whole = bucket("s3://files").key("a.png").unwrap();
        assert_eq!(whole.as_ref(), "a.png");
    }

    #[test]
    fn no_name_means_an_object_elsewhere() {
        let bucket = bucket("s3://files/agents");
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/../../x",
            "../agents",
            "../agents2/x",
            "../../../agents/../x",
            "s3://files/x",
            "s3://files/agents",
            "s3://files/agents/",
            "s3://files/agents2/x",
            "s3://files/agents/../x",
            "s3://other/agents/x",
            "s3://",
            "a\0b",
            "a\nb",
        ] {
            assert_eq!(bucket.key(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_key_is_below_the_prefix(parts in prop::collection::vec(
            prop::sample::select(vec!["..", ".", "", "a", "agents", "%2e%2e", "s3:", "files", "\\", "x.txt"]),
            1..7,
        )) {
            if let Some(key) = bucket("s3://files/agents").key(&parts.join("/")) {
                prop_assert!(key.as_ref().starts_with("agents/"), "{key}");
                prop_assert!(!key.as_ref().split('/').any(|part| matches!(part, "" | "." | "..")));
            }
        }
    }

    #[tokio::test]
    async fn a_new_file_replaces_no_other() {
        let bucket = bucket("s3://files/agents");
        let key = key("a/report.pdf");
        let create =
            |text: &str, if_exists| bucket.create(&key, Content::Bytes(text.into()), if_exists);
        assert_eq!(create("one", IfExists::Rename).await.unwrap(), key);
        let second = create("two", IfExists::Rename).await.unwrap();
        let name = second.as_ref();
        assert!(name.starts_with("agents/a/report-") && name.ends_with(".pdf"), "{name}");
        let error = create("three", IfExists::Fail).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidParameters);
        assert!(error.message.contains("`s3://files/agents/a/report.pdf` exists"), "{error}");
        assert_eq!(bucket.read(&key, 3).await.unwrap().unwrap(), b"one");
        assert_eq!(bucket.read(&second, 3).await.unwrap().unwrap(), b"two");
        bucket.replace(&key, "four".into()).await.unwrap();
        assert_eq!(bucket.read(&key, 4).await.unwrap().unwrap(), b"four");
        assert!(bucket.read(&key, 3).await.unwrap_err().message.contains("has 4 bytes"));
    }

    #[tokio::test]
    async fn a_large_file_is_sent_in_parts_and_replaces_no_other() {
        let bucket = bucket("s3://files");
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let content: Vec<u8> = (0..2 * PART + 1).map(|at| at as u8).collect();
        std::fs::write(&from, &content).unwrap();
        let key = bucket.key("film.mp4").unwrap();
        let create = |path| bucket.create(&key, Content::File(path), IfExists::Rename);
        assert_eq!(create(&from).await.unwrap(), key);
        let size = content.len() as u64;
        let error = bucket.fetch(&key, &to, size - 1).await.unwrap_err();
        assert!(error.message.contains(&format!("has {size} bytes")), "{error}");
        assert!(bucket.fetch(&key, &to, size).await.unwrap());
        assert!(std::fs::read(&to).unwrap() == content);
        std::fs::write(&from, &content[1..]).unwrap();
        assert_ne!(create(&from).await.unwrap(), key);
        let large = vec![1; MAX_REQUEST as usize + 1];
        let other = bucket.create(&key, Content::Bytes(large.clone()), IfExists::Rename).await;
        assert!(bucket.read(&other.unwrap(), u64::MAX).await.unwrap().unwrap() == large);
        assert!(bucket.read(&key, u64::MAX).await.unwrap().unwrap() == content);
    }

    #[tokio::test]
    async fn a_missing_object_is_no_error_of_the_server() {
        let bucket = bucket("s3://files");
        let key = bucket.key("none.txt").unwrap();
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(bucket.read(&key, 1).await.unwrap(), None);
        assert!(!bucket.fetch(&key, &folder.path().join("to"), 1).await.unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    fn denied(body: &str) -> Error {
        Error::PermissionDenied { path: "page.png".into(), source: body.into() }
    }

    #[test]
    fn messages_do_not_contain_what_the_server_says_about_credentials() {
        let body = "status code: 403 Forbidden: <Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>HIDDEN-KEY</AWSAccessKeyId></Error>";
        let bucket = bucket("s3://files");
        let error = bucket.failure(ObjectOperation::Write, &Path::from("page.png"), &denied(body));
        let text = serde_json::to_string(&error).unwrap();
        assert!(text.contains("denied the request (SignatureDoesNotMatch)"), "{text}");
        assert!(!text.contains("HIDDEN"), "{text}");
        let forged = denied("<Code>HIDDEN KEY</Code>");
        let error = bucket.failure(ObjectOperation::Write, &Path::from("page.png"), &forged);
        assert!(error.message.ends_with("denied the request"), "{error}");
    }

    #[test]
    fn an_overloaded_server_is_retryable_and_another_answer_is_not() {
        let generic = |text: &str| Error::Generic { store: "S3", source: text.into() };
        for (text, failure) in [
            (
                "status code: 503 …: <Code>SlowDown</Code>",
                BucketFailure::Busy(" (SlowDown)".into()),
            ),
            ("status code: 502 Bad Gateway: ", BucketFailure::Busy(" (502)".into())),
            (
                "status code: 501 …: <Code>NotImplemented</Code>",
                BucketFailure::Other(" (NotImplemented)".into()),
            ),
            ("status code: 404 …: <Code>NoSuchBucket</Code>", BucketFailure::NoBucket),
        ] {
            assert_eq!(BucketFailure::of(&generic(text)), failure);
        }
    }
}
