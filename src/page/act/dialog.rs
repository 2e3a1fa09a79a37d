//! Answers dialogs, and closes pages.

use std::time::Duration;

use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        act::{ActionOutcome, SettledEffects, WaitUntil},
        script::ANSWER_TIMEOUT,
        state::{EventSequence, PageFacts},
    },
};

/// Timeout for closing a page, which runs no `beforeunload` handlers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for closing a dialog. The browser closes it immediately.
const DIALOG_TIMEOUT: Duration = Duration::from_secs(5);

impl Page {
    /// Answers the open dialog, and describes the effects. These include the changes that the
    /// page's script made before it opened the dialog.
    pub async fn handle_dialog(
        &self,
        accept: bool,
        prompt_text: Option<&str>,
    ) -> Result<ActionOutcome> {
        // The page cannot be read while the dialog is open.
        let before = self.last_snapshot();
        let settled = self.answer_dialog(accept, prompt_text).await?;
        Ok(self.describe_effects("the dialog".to_owned(), settled, before).await)
    }

    /// Answers the open dialog, and waits for the effects.
    pub async fn answer_dialog(
        &self,
        accept: bool,
        prompt_text: Option<&str>,
    ) -> Result<SettledEffects> {
        let Some(dialog) = self.dialog() else {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "no dialog is open in this page",
            )
            .suggestion("continue without handle_dialog: `snapshot` shows the page"));
        };
        let mark = self.state.mark();
        // Without `prompt_text`, a prompt returns its default text, as when a user only presses OK.
        let text = prompt_text.or(dialog.default_value.as_deref()).filter(|_| accept);
        let handled = async {
            self.engine.handle_dialog(accept, text).await.map_err(|error| self.error(error))
        };
        self.while_responsive(ANSWER_TIMEOUT, handled).await?;
        // The next dialog may open immediately.
        let answered = self.state.await_some(|facts| {
            (facts.dialog.is_none() || facts.dialog_since(mark).is_some()).then_some(())
        });
        self.within(DIALOG_TIMEOUT, answered)
            .await
            .ok_or_else(|| self.timed_out("the dialog did not close", DIALOG_TIMEOUT))?;
        if accept && dialog.is_before_unload() {
            self.await_allowed_navigation(mark).await;
        }
        let mut settled = self.settle(mark, self.main_frame(), None, None).await?;
        // A dialog that opened while the page loaded has blocked the load.
        if settled.dialog.is_none() && !settled.closed && self.state.read(PageFacts::is_loading) {
            let loading = self.await_load_or_dialog(WaitUntil::Load, EventSequence::default());
            match self.within(self.config.timeout_settle, loading).await {
                Some(dialog) => settled.dialog = dialog?,
                None => settled.timed_out = true,
            }
        }
        Ok(settled)
    }

    /// Closes the page, and waits until the browser has reported that.
    pub async fn close(&self) -> Result<()> {
        let closing = async { self.engine.close().await.map_err(|error| self.error(error)) };
        self.while_responsive(ANSWER_TIMEOUT, closing).await?;
        let closed = self.state.await_some(|facts| facts.closed.then_some(()));
        self.within(CLOSE_TIMEOUT, closed)
            .await
            .ok_or_else(|| self.timed_out("the page did not close", CLOSE_TIMEOUT))
    }
}
