//! The open dialogs in the pages of a session. A dialog blocks its page and every other page in the
//! same process: a popup's dialog blocks its opener.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::engine::Dialog;

/// How long a dialog of another page is open before the page is tested for a response, and the
/// timeout of that test.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// The open dialogs of all pages of a session, by page ID.
#[derive(Debug, Clone, Default)]
pub struct Dialogs(Arc<watch::Sender<BTreeMap<String, Dialog>>>);

/// A dialog that blocks a page.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenDialog {
    pub dialog: Dialog,
    /// The page that opened the dialog, if it is another page.
    pub page_id: Option<String>,
}

impl From<Dialog> for OpenDialog {
    fn from(dialog: Dialog) -> Self {
        Self { dialog, page_id: None }
    }
}

impl From<OtherPageDialog> for OpenDialog {
    fn from(OtherPageDialog { page_id, dialog }: OtherPageDialog) -> Self {
        Self { dialog, page_id: Some(page_id) }
    }
}

/// The dialog of another page of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherPageDialog {
    pub page_id: String,
    pub dialog: Dialog,
}

impl Dialogs {
    pub(in crate::page) fn opened(&self, page_id: &str, dialog: &Dialog) {
        self.0.send_modify(|open| drop(open.insert(page_id.to_owned(), dialog.clone())));
    }

    pub(in crate::page) fn closed(&self, page_id: &str) {
        self.0.send_if_modified(|open| open.remove(page_id).is_some());
    }

    /// Returns a receiver of the open dialogs, by page ID.
    pub fn changes(&self) -> watch::Receiver<BTreeMap<String, Dialog>> {
        self.0.subscribe()
    }

    /// Returns a dialog that is open in another page than `page_id`.
    pub(in crate::page) fn of_other_page(&self, page_id: &str) -> Option<OtherPageDialog> {
        of_other_page(&self.0.borrow(), page_id)
    }

    /// Waits until a dialog of another page blocks `page_id`. `responds` tests whether the page
    /// responds within the given time.
    pub(in crate::page) async fn await_blocking<'a>(
        &self,
        page_id: &str,
        responds: impl Fn(Duration) -> BoxFuture<'a, bool>,
    ) -> OtherPageDialog {
        let mut dialogs = self.0.subscribe();
        loop {
            let open = of_other_page(&dialogs.borrow_and_update(), page_id);
            if let Some(open) = open {
                if tokio::time::timeout(ANSWER_TIMEOUT, dialogs.changed()).await.is_ok() {
                    continue;
                }
                if !responds(ANSWER_TIMEOUT).await {
                    return open;
                }
            }
            // `self` owns the sender, so the channel stays open.
            let _ = dialogs.changed().await;
        }
    }
}

fn of_other_page(open: &BTreeMap<String, Dialog>, page_id: &str) -> Option<OtherPageDialog> {
    let (page_id, dialog) = open.iter().find(|(other, _)| *other != page_id)?;
    Some(OtherPageDialog { page_id: page_id.clone(), dialog: dialog.clone() })
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures_util::FutureExt;

    use super::*;

    fn alert() -> Dialog {
        Dialog { kind: "alert".into(), message: "Hi".into(), default_value: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_dialog_of_another_page_blocks_a_page_that_does_not_respond() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-2", &alert());
        let open = dialogs.await_blocking("page-1", |_| ready(false).boxed()).await;
        assert_eq!(open, OtherPageDialog { page_id: "page-2".into(), dialog: alert() });
    }

    #[tokio::test(start_paused = true)]
    async fn a_dialog_of_another_page_does_not_block_a_page_that_responds() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-2", &alert());
        let blocked_by_dialog = dialogs.await_blocking("page-1", |_| ready(true).boxed());
        assert!(tokio::time::timeout(Duration::from_secs(60), blocked_by_dialog).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_not_blocked_by_its_own_dialog_or_a_closed_one() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-1", &alert());
        dialogs.opened("page-2", &alert());
        dialogs.closed("page-2");
        let blocked_by_dialog = dialogs.await_blocking("page-1", |_| ready(false).boxed());
        assert!(tokio::time::timeout(Duration::from_secs(60), blocked_by_dialog).await.is_err());
    }
}
