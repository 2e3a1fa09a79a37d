//! Answers file choosers with files of the machine of a person.
//!
//! An upload is a line of JSON with the names and sizes of the files, and then their contents.

use std::{
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::{
    fs::{self, File},
    io::AsyncWriteExt,
};

use super::Dashboard;
use crate::{error::TroupeError, page::Page, session::Session};

/// Maximum size of the files of an answer in bytes.
pub const MAX_UPLOAD: u64 = 100 << 20;
/// Maximum size of the line with the names in bytes.
const MAX_LINE: usize = 64 << 10;
/// Maximum number of files of an answer.
const MAX_FILES: usize = 1000;
/// Maximum size of a name in bytes, which file systems have too.
const MAX_NAME: usize = 200;

/// An open file chooser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChooserView {
    pub multiple: bool,
}

/// Why files were not given to a page.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error("you do not control this session")]
    NotHeld,
    #[error("no file chooser is open in this session")]
    NoChooser,
    #[error("the files have more than {} MB", MAX_UPLOAD >> 20)]
    TooLarge,
    #[error("the upload is invalid: {0}")]
    Invalid(String),
    #[error("a file cannot be written: {0}")]
    Unwritable(#[from] io::Error),
    #[error("{}", .0.message)]
    Page(TroupeError),
}

/// The line before the contents.
#[derive(Deserialize)]
struct UploadLine {
    files: Vec<UploadedFile>,
}

#[derive(Deserialize)]
struct UploadedFile {
    name: String,
    size: u64,
}

impl Dashboard {
    /// Answers the open file chooser of the session `id` with the files in `chunks`, or dismisses
    /// it if there are none. Fails unless `person` controls the session.
    pub async fn upload<B: AsRef<[u8]>>(
        &self,
        id: &str,
        person: &str,
        chunks: impl Stream<Item = Result<B, UploadError>> + Send,
    ) -> Result<(), UploadError> {
        let session = self.manager.find(id).filter(|_| self.is_held_by(id, person));
        let session = session.ok_or(UploadError::NotHeld)?;
        let page = page_with_chooser(&session).ok_or(UploadError::NoChooser)?;
        let mut upload = UploadStream { chunks: Box::pin(chunks), buffered: Vec::new() };
        let files = upload.files().await?;
        let paths = if files.is_empty() {
            Vec::new()
        } else {
            let owner = session.clone();
            let created = tokio::task::spawn_blocking(move || owner.new_upload_folder()).await;
            let folder = created.map_err(io::Error::other)??;
            let written = upload.write(&folder, &files).await;
            if written.is_err() {
                let _ = fs::remove_dir_all(&folder).await;
            }
            written?
        };
        if !self.is_held_by(id, person) {
            return Err(UploadError::NotHeld);
        }
        page.answer_file_chooser(&paths).await.map(drop).map_err(UploadError::Page)
    }
}

fn page_with_chooser(session: &Session) -> Option<Arc<Page>> {
    let open = session.chooser_changes().borrow().keys().next().cloned()?;
    session.open_pages().into_iter().find(|page| page.id == open)
}

struct UploadStream<S> {
    chunks: Pin<Box<S>>,
    buffered: Vec<u8>,
}

impl<B: AsRef<[u8]>, S: Stream<Item = Result<B, UploadError>>> UploadStream<S> {
    /// Waits for more contents.
    async fn receive(&mut self) -> Result<(), UploadError> {
        match self.chunks.next().await {
            Some(chunk) => self.buffered.extend_from_slice(chunk?.as_ref()),
            None => return Err(UploadError::Invalid("it ends early".to_owned())),
        }
        Ok(())
    }

    /// Reads the line with the names.
    async fn files(&mut self) -> Result<Vec<UploadedFile>, UploadError> {
        let end = loop {
            if let Some(end) = self.buffered.iter().position(|byte| *byte == b'\n') {
                break end;
            }
            if self.buffered.len() > MAX_LINE {
                return Err(UploadError::Invalid("its first line is too long".to_owned()));
            }
            self.receive().await?;
        };
        let line: Vec<u8> = self.buffered.drain(..=end).collect();
        let line: UploadLine = serde_json::from_slice(&line)
            .map_err(|error| UploadError::Invalid(error.to_string()))?;
        let sizes = line.files.iter().map(|file| file.size);
        if sizes.fold(0, u64::saturating_add) > MAX_UPLOAD {
            return Err(UploadError::TooLarge);
        }
        if line.files.len() > MAX_FILES {
            return Err(UploadError::Invalid(format!("it has more than {MAX_FILES} files")));
        }
        Ok(line.files)
    }

    /// Writes each file to its own folder in `folder`, so that several can have the same name.
    async fn write(
        &mut self,
        folder: &Path,
        files: &[UploadedFile],
    ) -> Result<Vec<PathBuf>, UploadError> {
        let mut paths = Vec::with_capacity(files.len());
        for (number, file) in files.iter().enumerate() {
            let own = folder.join(number.to_string());
            fs::create_dir(&own).await?;
            let path = own.join(file_name(&file.name));
            let mut written = File::create_new(&path).await?;
            let mut left = file.size;
            while left > 0 {
                if self.buffered.is_empty() {
                    self.receive().await?;
                }
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffered.len());
                written.write_all(&self.buffered[..length]).await?;
                self.buffered.drain(..length);
                left -= length as u64;
            }
            written.flush().await?;
            paths.push(path);
        }
        Ok(paths)
    }
}

/// Returns the file name in `name`, without characters that file systems do not accept.
fn file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let accepted = |character: &char| {
        !character.is_control() && !matches!(character, ':' | '*' | '?' | '"' | '<' | '>' | '|')
    };
    let kept: String = last.chars().filter(accepted).collect();
    let mut kept = kept.trim().trim_end_matches('.').to_owned();
    // The extension stays.
    while kept.len() > MAX_NAME {
        kept.remove(0);
    }
    if kept.is_empty() { "file".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[test]
    fn a_file_name_has_no_folder_and_no_forbidden_characters() {
        let long = format!("{}.pdf", "ä".repeat(300));
        for (name, expected) in [
            ("photo.png", "photo.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ada\\letter.doc", "letter.doc"),
            ("..", "file"),
            ("", "file"),
            ("a\0b\n.txt", "ab.txt"),
            ("x/", "file"),
        ] {
            assert_eq!(file_name(name), expected, "{name:?}");
        }
        assert!(file_name(&long).len() <= MAX_NAME && file_name(&long).ends_with("ä.pdf"));
    }

    fn upload(
        text: &str,
        size: usize,
    ) -> UploadStream<impl Stream<Item = Result<Vec<u8>, UploadError>>> {
        let chunks: Vec<_> = text.as_bytes().chunks(size).map(|part| Ok(part.to_vec())).collect();
        UploadStream { chunks: Box::pin(stream::iter(chunks)), buffered: Vec::new() }
    }

    #[tokio::test]
    async fn an_upload_is_split_into_its_files() {
        let text = "{\"files\": [{\"name\": \"a\", \"size\": 3}, {\"name\": \"a\", \"size\": 0}, \
                    {\"name\": \"b\", \"size\": 4}]}\n123four";
        for size in [1, 2, 7, 1000] {
            let folder = tempfile::tempdir().unwrap();
            let mut upload = upload(text, size);
            let files = upload.files().await.unwrap();
            let paths = upload.write(folder.path(), &files).await.unwrap();
            let read = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
            assert_eq!(read.collect::<Vec<_>>(), ["123", "", "four"], "{size}");
            assert!(paths.iter().all(|path| path.starts_with(folder.path())));
        }
    }

    #[tokio::test]
    async fn an_upload_that_is_too_large_or_incomplete_is_rejected() {
        let large = format!("{{\"files\": [{{\"name\": \"a\", \"size\": {}}}]}}\n", MAX_UPLOAD + 1);
        assert!(matches!(upload(&large, 9).files().await, Err(UploadError::TooLarge)));
        let long = "x".repeat(MAX_LINE * 2);
        assert!(matches!(upload(&long, 1000).files().await, Err(UploadError::Invalid(_))));
        let folder = tempfile::tempdir().unwrap();
        let mut short = upload("{\"files\": [{\"name\": \"a\", \"size\": 9}]}\nshort", 4);
        let files = short.files().await.unwrap();
        let written = short.write(folder.path(), &files).await;
        assert!(matches!(written, Err(UploadError::Invalid(_))));
    }
}
