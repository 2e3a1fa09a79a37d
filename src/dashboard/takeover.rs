//! Control of a session by a person.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, join, join_all};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{Dashboard, uploads::FileChooserView};
use crate::{
    engine::{Dialog, FileChooser},
    error::{Result, TroupeError},
    page::{Page, PersonInput, SelectPopup, SelectPopupView},
    session::{ControllingPerson, Session},
};

/// Maximum number of input events that wait for the browser.
const UNSENT_INPUTS: usize = 512;

/// How long `PersonInputs::sent` waits for the last input events.
const PROCESSED_TIMEOUT: Duration = Duration::from_secs(5);

enum QueuedInput {
    Event(PersonInput),
    /// Selects the option with this index in the open list, or closes it.
    Choice(Option<usize>),
    /// Is notified when all events before it have been processed.
    End(oneshot::Sender<()>),
}

/// What the input of a person has caused outside of the page.
#[derive(Debug)]
pub enum PersonNotice {
    /// The person has opened a dropdown list, or closed it.
    Select(Option<SelectPopupView>),
    /// An option was not selected.
    Failed(TroupeError),
}

/// Sends the input of a person to a session, until it is dropped.
pub struct PersonInputs {
    session: Arc<Session>,
    /// The number of the connection of the person.
    connection: u64,
    inputs: mpsc::Sender<QueuedInput>,
    _task: AbortOnDropHandle<()>,
}

impl Drop for PersonInputs {
    fn drop(&mut self) {
        // The person may connect again.
        self.session.abandon(self.connection);
    }
}

impl PersonInputs {
    /// Adds an event. Waits while the queue is full.
    pub async fn add(&self, input: PersonInput) {
        // Fails only if the session has ended.
        let _ = self.inputs.send(QueuedInput::Event(input)).await;
    }

    /// Selects an option of the open list, or closes the list. Waits while the queue is full.
    pub async fn choose(&self, index: Option<usize>) {
        let _ = self.inputs.send(QueuedInput::Choice(index)).await;
    }

    /// Waits until the browser has processed all events.
    pub async fn wait_processed(&self) {
        let (sent, done) = oneshot::channel();
        let _ = self.inputs.send(QueuedInput::End(sent)).await;
        // A dialog may block the last event.
        let _ = tokio::time::timeout(PROCESSED_TIMEOUT, done).await;
    }
}

/// Who controls a session, and the dialog and the file chooser that wait for an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionControl {
    pub person: Option<Arc<str>>,
    pub dialog: Option<DialogView>,
    /// Only while a person controls the session. Agents answer a file chooser with their next call.
    pub chooser: Option<FileChooserView>,
}

/// A dialog of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DialogView {
    pub kind: String,
    pub message: String,
    pub default_text: Option<String>,
}

/// Follows the control of a session.
pub struct SessionControls {
    controller: watch::Receiver<Option<ControllingPerson>>,
    dialogs: watch::Receiver<BTreeMap<String, Dialog>>,
    choosers: watch::Receiver<BTreeMap<String, FileChooser>>,
    last: SessionControl,
}

impl SessionControls {
    /// Waits for a change, compared with a session that no person controls and that has no open
    /// dialog, or with the last result. `None` when the session has ended.
    pub async fn next(&mut self) -> Option<SessionControl> {
        loop {
            let person =
                self.controller.borrow_and_update().as_ref().map(|held| held.person.clone());
            let dialog = self.dialogs.borrow_and_update().values().next().cloned();
            let dialog = dialog.map(|dialog| DialogView {
                kind: dialog.kind,
                message: dialog.message,
                default_text: dialog.default_value,
            });
            let chooser = self.choosers.borrow_and_update().values().next().cloned();
            let chooser = chooser.filter(|_| person.is_some());
            let chooser = chooser.map(|chooser| FileChooserView { multiple: chooser.multiple });
            let now = SessionControl { person, dialog, chooser };
            if now != self.last {
                self.last = now.clone();
                return Some(now);
            }
            tokio::select! {
                changed = self.controller.changed() => changed.ok()?,
                changed = self.dialogs.changed() => changed.ok()?,
                changed = self.choosers.changed() => changed.ok()?,
            }
        }
    }
}

impl Dashboard {
    /// Follows the control of the session `id`. `None` if it is not open.
    pub fn controls(&self, id: &str) -> Option<SessionControls> {
        let session = self.manager.find(id)?;
        Some(SessionControls {
            controller: session.controller_changes(),
            dialogs: session.dialog_changes(),
            choosers: session.chooser_changes(),
            last: SessionControl::default(),
        })
    }

    /// Answers the dialog of the session `id`.
    pub async fn answer_dialog(&self, id: &str, accept: bool, text: Option<&str>) -> Result<()> {
        let Some(session) = self.manager.find(id) else { return Ok(()) };
        let page = session.open_pages().into_iter().find(|page| page.dialog().is_some());
        match page {
            Some(page) => page.answer_dialog(accept, text).await.map(drop),
            None => Ok(()),
        }
    }

    /// Gives `person` control of the session `id`. `None` if it is not open.
    pub fn take_control(
        &self,
        id: &str,
        person: &Arc<str>,
        notices: mpsc::Sender<PersonNotice>,
    ) -> Option<PersonInputs> {
        let session = self.manager.find(id)?;
        let connection = session.take_control(person);
        let (inputs, queue) = mpsc::channel(UNSENT_INPUTS);
        let sender = InputSender {
            session: session.clone(),
            notices,
            processing: None,
            waiting_move: None,
            open_list: None,
            is_press_withheld: false,
            withheld_key: None,
        };
        let task = AbortOnDropHandle::new(tokio::spawn(sender.send_all(queue)));
        Some(PersonInputs { session, connection, inputs, _task: task })
    }

    /// Returns whether `person` controls the session `id`.
    pub fn is_held_by(&self, id: &str, person: &str) -> bool {
        let controller = self.manager.find(id).and_then(|session| session.controller());
        controller.is_some_and(|controller| &*controller.person == person)
    }

    /// Makes the passwords in the pages secrets of the session. Then ends the control of `person`.
    pub async fn release(&self, id: &str, person: &str) {
        let Some(session) = self.manager.find(id) else { return };
        let pages = session.open_pages();
        join_all(pages.iter().map(|page| remember_passwords(&session, page))).await;
        session.release(person);
    }

    /// Answers the question `question` of the session `id`, after the control of `person` has
    /// ended. Returns false if the question does not wait for an answer.
    pub async fn answer_question(
        &self,
        id: &str,
        person: &str,
        question: &str,
        answer: Map<String, Value>,
    ) -> bool {
        let Some(session) = self.manager.find(id) else { return false };
        self.release(id, person).await;
        session.answer_question(question, answer)
    }
}

/// The task that sends the input of a person.
struct InputSender {
    session: Arc<Session>,
    notices: mpsc::Sender<PersonNotice>,
    /// Ends when the browser has processed the last event.
    processing: Option<BoxFuture<'static, ()>>,
    /// The newest move, which is sent after that or before the next event of another kind.
    waiting_move: Option<PersonInput>,
    /// The dropdown list that the person has opened, and its page.
    open_list: Option<(Arc<Page>, SelectPopup)>,
    /// Whether the press that has opened a list was not sent. Its release is not sent either.
    is_press_withheld: bool,
    /// The pressed key that has opened a list. Its press, repetitions and release are not sent.
    withheld_key: Option<String>,
}

impl InputSender {
    async fn send_all(mut self, mut queue: mpsc::Receiver<QueuedInput>) {
        loop {
            let next = tokio::select! {
                // All moves that wait are read before one is sent.
                biased;
                next = queue.recv() => next,
                () = self.last_processed() => {
                    self.send_move().await;
                    continue;
                }
            };
            match next {
                // Chromium responds to a move with the next frame of the page. Until then, a later
                // move replaces the one that waits.
                Some(QueuedInput::Event(input)) if input.is_move() => {
                    self.waiting_move = Some(input);
                    if self.processing.is_none() {
                        self.send_move().await;
                    }
                }
                Some(QueuedInput::Event(input)) => {
                    self.send_move().await;
                    self.send(input).await;
                }
                Some(QueuedInput::Choice(index)) => {
                    self.send_move().await;
                    self.choose(index).await;
                }
                Some(QueuedInput::End(sent)) => {
                    self.send_move().await;
                    if self.processing.is_some() {
                        self.last_processed().await;
                    }
                    // Fails only if the wait has timed out.
                    let _ = sent.send(());
                }
                None => return,
            }
        }
    }

    /// Waits until the browser has processed the last event. Waits forever if it has already.
    async fn last_processed(&mut self) {
        match &mut self.processing {
            Some(processed) => processed.await,
            None => std::future::pending().await,
        }
        self.processing = None;
    }

    /// Sends the move that waits.
    async fn send_move(&mut self) {
        if let Some(input) = self.waiting_move.take() {
            self.send(input).await;
        }
    }

    async fn send(&mut self, input: PersonInput) {
        if input.is_left_release() && std::mem::take(&mut self.is_press_withheld) {
            return;
        }
        if let Some(released) = input.released_key()
            && self.withheld_key.take_if(|key| *key == released).is_some()
        {
            return;
        }
        let Some(page) = self.session.current_page() else { return };
        let (point, key) = (input.left_press(), input.list_key());
        if key.is_some() && self.withheld_key.as_deref() == key {
            return;
        }
        if point.is_some() || key.is_some() {
            self.close_list().await;
            // Both only read the page, so the press waits only for the slower one.
            let (list, ()) =
                join(page.select_popup(point), remember_passwords(&self.session, &page)).await;
            if let Some(list) = list {
                match key {
                    Some(key) => self.withheld_key = Some(key.to_owned()),
                    None => self.is_press_withheld = true,
                }
                notify(&self.notices, PersonNotice::Select(Some(list.view.clone()))).await;
                self.open_list = Some((page, list));
                return;
            }
        } else if input.may_submit() {
            remember_passwords(&self.session, &page).await;
        }
        // The event itself is not logged: it may be a part of a password.
        match page.person_input(input).await {
            Ok(processed) => self.processing = Some(processed),
            Err(error) => {
                let code = error.code.as_str();
                tracing::debug!(session = &*self.session.id, code, "input failed");
            }
        }
    }

    /// Selects an option of the open list, and closes the list.
    async fn choose(&mut self, index: Option<usize>) {
        if let (Some((page, list)), Some(index)) = (&self.open_list, index) {
            // The page may submit the form.
            remember_passwords(&self.session, page).await;
            if let Err(error) = page.choose_option(list, index).await {
                notify(&self.notices, PersonNotice::Failed(error)).await;
            }
        }
        self.close_list().await;
    }

    async fn close_list(&mut self) {
        if self.open_list.take().is_some() {
            notify(&self.notices, PersonNotice::Select(None)).await;
        }
    }
}

async fn notify(notices: &mpsc::Sender<PersonNotice>, notice: PersonNotice) {
    // Fails only while the connection of the person ends.
    let _ = notices.send(notice).await;
}

/// Makes the values of password fields secrets of the session: they are masked in all results, in
/// the record and in the log.
async fn remember_passwords(session: &Session, page: &Page) {
    for password in page.password_values().await {
        session.secrets.add(&password);
    }
}
