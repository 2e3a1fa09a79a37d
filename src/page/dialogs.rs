//! The open dialogs in the pages of a session. A dialog blocks its page and every other page in the same process: a
//! popup's dialog blocks its opener.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::engine::Dialog;

/// A page that has not answered for this long beside an open dialog is asked whether it is held up.
const PATIENCE: Duration = Duration::from_millis(300);

/// Those of all pages of a session, by page id.
#[derive(Debug, Clone, Default)]
pub struct Dialogs(Arc<watch::Sender<BTreeMap<String, Dialog>>>);

/// A dialog that holds up a page.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenDialog {
    pub dialog: Dialog,
    /// The page whose dialog it is, where that is another one.
    pub page_id: Option<String>,
}

impl From<Dialog> for OpenDialog {
    fn from(dialog: Dialog) -> Self {
        Self { dialog, page_id: None }
    }
}

impl From<Elsewhere> for OpenDialog {
    fn from(Elsewhere { page_id, dialog }: Elsewhere) -> Self {
        Self { dialog, page_id: Some(page_id) }
    }
}

/// The dialog of another page.
#[derive(Debug, Clone, PartialEq)]
pub struct Elsewhere {
    pub page_id: String,
    pub dialog: Dialog,
}

impl Dialogs {
    pub(super) fn opened(&self, page_id: &str, dialog: &Dialog) {
        self.0.send_modify(|open| drop(open.insert(page_id.to_owned(), dialog.clone())));
    }

    pub(super) fn closed(&self, page_id: &str) {
        self.0.send_if_modified(|open| open.remove(page_id).is_some());
    }

    /// One that is open in another page than `page_id`.
    pub(super) fn elsewhere(&self, page_id: &str) -> Option<Elsewhere> {
        elsewhere(&self.0.borrow(), page_id)
    }

    /// Waits until a dialog of another page has been open for a while, and `page_id` with it: `answers` is asked
    /// whether the page is held up indeed.
    pub(super) async fn holding_up<'a>(
        &self,
        page_id: &str,
        answers: impl Fn(Duration) -> BoxFuture<'a, bool>,
    ) -> Elsewhere {
        let mut news = self.0.subscribe();
        loop {
            let open = elsewhere(&news.borrow_and_update(), page_id);
            if let Some(open) = open {
                if tokio::time::timeout(PATIENCE, news.changed()).await.is_ok() {
                    continue;
                }
                if !answers(PATIENCE).await {
                    return open;
                }
            }
            // The sender lives as long as we do.
            let _ = news.changed().await;
        }
    }
}

fn elsewhere(open: &BTreeMap<String, Dialog>, page_id: &str) -> Option<Elsewhere> {
    let (page_id, dialog) = open.iter().find(|(other, _)| *other != page_id)?;
    Some(Elsewhere { page_id: page_id.clone(), dialog: dialog.clone() })
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
    async fn a_page_that_does_not_answer_beside_a_dialog_is_held_up() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-2", &alert());
        let open = dialogs.holding_up("page-1", |_| ready(false).boxed()).await;
        assert_eq!(open, Elsewhere { page_id: "page-2".into(), dialog: alert() });
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_that_answers_is_not() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-2", &alert());
        let held_up = dialogs.holding_up("page-1", |_| ready(true).boxed());
        assert!(tokio::time::timeout(Duration::from_secs(60), held_up).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn its_own_dialog_and_one_that_has_closed_are_no_others() {
        let dialogs = Dialogs::default();
        dialogs.opened("page-1", &alert());
        dialogs.opened("page-2", &alert());
        dialogs.closed("page-2");
        let held_up = dialogs.holding_up("page-1", |_| ready(false).boxed());
        assert!(tokio::time::timeout(Duration::from_secs(60), held_up).await.is_err());
    }
}
