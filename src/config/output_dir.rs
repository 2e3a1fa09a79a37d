//! The value of `--output-dir`: a folder, or a prefix in an S3 bucket.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

/// The scheme of the URLs of buckets and of the objects in them.
pub const S3: &str = "s3://";

/// Where tools write files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OutputDir {
    /// A folder, relative to the working directory.
    Folder(PathBuf),
    Bucket(BucketUrl),
}

/// `s3://BUCKET/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketUrl {
    bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    prefix: String,
}

impl OutputDir {
    pub(super) const ALLOWED: &str = "a folder, or `s3://BUCKET/PREFIX` without credentials, port and query (set AWS_ENDPOINT_URL and AWS_ACCESS_KEY_ID instead)";

    /// Parses a folder or the URL of a bucket. Returns `None` for other URLs.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once("://") {
            _ if text.trim().is_empty() => None,
            None => Some(Self::Folder(text.into())),
            Some(_) => BucketUrl::parse(text).map(Self::Bucket),
        }
    }

    /// Returns the folder; `None` for a bucket.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Bucket(_) => None,
        }
    }

    /// Returns the bucket; `None` for a folder.
    pub fn bucket(&self) -> Option<&BucketUrl> {
        match self {
            Self::Folder(_) => None,
            Self::Bucket(bucket) => Some(bucket),
        }
    }
}

impl From<PathBuf> for OutputDir {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl From<&str> for OutputDir {
    fn from(folder: &str) -> Self {
        Self::Folder(folder.into())
    }
}

impl TryFrom<String> for OutputDir {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("it must be {}", Self::ALLOWED))
    }
}

impl From<OutputDir> for String {
    fn from(output: OutputDir) -> Self {
        output.to_string()
    }
}

impl fmt::Display for OutputDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Bucket(url) => url.fmt(f),
        }
    }
}

impl BucketUrl {
    fn parse(text: &str) -> Option<Self> {
        let (bucket, prefix) = match text.strip_prefix(S3)?.split_once('/') {
            Some((bucket, prefix)) => (bucket, prefix.strip_suffix('/').unwrap_or(prefix)),
            None => (text.strip_prefix(S3)?, ""),
        };
        let is_bucket = (3..=63).contains(&bucket.len())
            && bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        let is_segment = |segment: &str| {
            !matches!(segment, "" | "." | "..")
                && !segment.chars().any(|c| c.is_control() || "?#\\".contains(c))
        };
        let is_prefix = prefix.is_empty() || prefix.split('/').all(is_segment);
        (is_bucket && is_prefix).then(|| Self { bucket: bucket.into(), prefix: prefix.into() })
    }

    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the prefix without slashes at its ends; empty for the whole bucket.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the URL of the object `key`.
    pub fn object(&self, key: &str) -> String {
        format!("{S3}{}/{key}", self.bucket)
    }

    /// Returns the key in `url`, the URL of an object in the bucket.
    pub fn key<'a>(&self, url: &'a str) -> Option<&'a str> {
        url.strip_prefix(S3)?.strip_prefix(self.bucket.as_str())?.strip_prefix('/')
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object(&self.prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_named_by_a_url() {
        for (text, shown) in [
            ("s3://files", "s3://files/"),
            ("s3://files/", "s3://files/"),
            ("s3://files/agents/", "s3://files/agents"),
            ("s3://my.files-1/a/b c", "s3://my.files-1/a/b c"),
        ] {
            let output = OutputDir::parse(text).unwrap();
            assert!(output.bucket().is_some(), "{text}");
            assert_eq!(output.to_string(), shown);
            // A configuration is merged as JSON.
            assert_eq!(OutputDir::parse(shown), Some(output));
        }
        assert_eq!(OutputDir::parse("out/s3"), Some("out/s3".into()));
    }

    #[test]
    fn other_urls_are_rejected() {
        for text in [
            "s3://",
            "s3:///prefix",
            "s3://ab",
            "s3://key:secret@files/prefix",
            "s3://localhost:9000/files",
            "s3://files/../other",
            "s3://files//prefix",
            "s3://files/prefix?region=eu",
            "S3://files",
            "gs://files/prefix",
            "https://files.s3.amazonaws.com/prefix",
            " ",
        ] {
            assert_eq!(OutputDir::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_belongs_to_one_bucket() {
        let Some(OutputDir::Bucket(bucket)) = OutputDir::parse("s3://files/a") else { panic!() };
        assert_eq!(bucket.key("s3://files/a/b.png"), Some("a/b.png"));
        for url in ["s3://files2/a/b.png", "s3://files", "files/a/b.png", "https://files/a"] {
            assert_eq!(bucket.key(url), None, "{url}");
        }
    }
}
