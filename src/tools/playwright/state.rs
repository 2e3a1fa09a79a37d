//! The state of the Playwright set between the calls of a session.

use std::collections::{HashMap, HashSet};

use parking_lot::{Mutex, MutexGuard};

use super::{output::LogFile, response::PageHeader, routes::ListedRoute};
use crate::page::Page;

/// The state of the Playwright set for a session.
#[derive(Default)]
pub(in crate::tools) struct PlaywrightState(Mutex<PlaywrightStateData>);

#[derive(Default)]
pub(super) struct PlaywrightStateData {
    /// By page id.
    pub pages: HashMap<String, PageResponseState>,
    pub routes: Vec<ListedRoute>,
}

/// The state of the Playwright set for a page.
#[derive(Default)]
pub(super) struct PageResponseState {
    /// The page's header in the last response that contained it.
    pub header: Option<PageHeader>,
    /// The number of the page's first request since `browser_navigate`.
    pub first_request: usize,
    /// The number of the page's first console message that no response has mentioned.
    pub next_message: usize,
    pub console_file: Option<LogFile>,
    /// The URLs of running downloads that a response has mentioned.
    pub announced_downloads: HashSet<String>,
}

impl PlaywrightState {
    pub(super) fn lock(&self) -> MutexGuard<'_, PlaywrightStateData> {
        self.0.lock()
    }

    /// Makes later responses omit the messages and requests that the page has so far, because
    /// `browser_navigate` starts.
    pub(super) fn begin_navigation(&self, page: &Page) {
        let mut state = self.lock();
        let page_state = state.pages.entry(page.id.clone()).or_default();
        page_state.first_request = page.request_count();
        page_state.next_message = page.console_count();
        page_state.console_file = None;
    }
}

/// Returns a description of each open dialog and file chooser of a page, with the tool that handles
/// it.
pub(super) fn modal_states(page: &Page) -> Vec<String> {
    let dialog = page.dialog().map(|dialog| {
        format!(
            "- [\"{}\" dialog with message \"{}\"]: can be handled by browser_handle_dialog",
            dialog.kind, dialog.message
        )
    });
    let chooser = page
        .open_file_chooser()
        .map(|_| "- [File chooser]: can be handled by browser_file_upload".to_owned());
    chooser.into_iter().chain(dialog).collect()
}
