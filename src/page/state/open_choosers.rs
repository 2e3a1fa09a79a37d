//! The open file choosers in the pages of a session.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::watch;

use crate::engine::FileChooser;

/// The open file choosers of all pages of a session, by page ID.
#[derive(Debug, Clone, Default)]
pub struct OpenChoosers(Arc<watch::Sender<BTreeMap<String, FileChooser>>>);

impl OpenChoosers {
    /// Records the open file chooser of a page, or that it has none.
    pub(in crate::page) fn set(&self, page_id: &str, chooser: Option<FileChooser>) {
        self.0.send_if_modified(|open| {
            if open.get(page_id) == chooser.as_ref() {
                return false;
            }
            match chooser {
                Some(chooser) => drop(open.insert(page_id.to_owned(), chooser)),
                None => drop(open.remove(page_id)),
            }
            true
        });
    }

    /// Returns a receiver of the open file choosers, by page ID.
    pub fn changes(&self) -> watch::Receiver<BTreeMap<String, FileChooser>> {
        self.0.subscribe()
    }
}
