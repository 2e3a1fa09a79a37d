//! The WebSocket of the dashboard. It sends live images, the list of live sessions, and the calls
//! of sessions.
//!
//! Each viewer has one task, and one more for each session that it watches. An image is sent when
//! the viewer has shown the previous one, so that a slow viewer skips images.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    response::Response,
};
use futures_util::{StreamExt, stream::SplitStream};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{
    sync::{Notify, broadcast::error::RecvError, mpsc, watch},
    time::Instant,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::ServerState,
    links::Access,
    peers_live,
    viewer_queue::{UNSENT, write},
};
use crate::{
    config::Viewport,
    dashboard::{
        CallView, ImageRequest, OVERVIEW_INTERVAL, PersonInput, PersonInputs, PersonNotice,
        SessionControl, SessionControls, SessionViewer,
    },
};

/// Maximum size of a message from a viewer in bytes.
const MAX_MESSAGE: usize = 256 << 10;
/// Maximum number of sessions that one viewer watches at a time.
const MAX_WATCHED: usize = 100;

/// A message from the page.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum ViewerMessage {
    Watch { sessions: Vec<WatchRequest> },
    Ack { id: String, frame: u64 },
    Hold { id: String },
    Release { id: String },
    Input { id: String, events: Vec<PersonInput> },
    Dialog { id: String, accept: bool, text: Option<String> },
    Choose { id: String, index: Option<usize> },
    Done { id: String, question: String, answer: Option<Map<String, Value>> },
}

/// A session that the page shows.
#[derive(Deserialize)]
struct WatchRequest {
    id: String,
    /// In physical pixels of the screen.
    width: f64,
    height: f64,
    /// Whether to send its calls. Without them, the page shows an overview of sessions.
    #[serde(default)]
    calls: bool,
}

/// Handles a request to `/dashboard/api/live`.
pub(super) async fn upgrade(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE).on_upgrade(
        async move |socket| match state.peers.clone() {
            Some(peers) => peers_live::serve(&peers, &state, &access, socket).await,
            None => serve(state, access, socket).await,
        },
    )
}

async fn serve(state: ServerState, access: Access, socket: WebSocket) {
    let (sink, stream) = socket.split();
    let (outgoing, queue) = mpsc::channel(UNSENT);
    let (watched, controlled) = Default::default();
    let viewer = LiveViewer { state, access, outgoing, watched, controlled };
    let expiry = async {
        match viewer.access.expires_at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = viewer.read(stream) => {}
        () = write(sink, queue) => {}
        () = viewer.send_sessions() => {}
        () = viewer.send_calls() => {}
        () = expiry => {}
        () = viewer.state.stop.cancelled() => {}
    }
}

/// A connected page of the dashboard.
struct LiveViewer {
    state: ServerState,
    access: Access,
    outgoing: mpsc::Sender<Message>,
    watched: Mutex<HashMap<String, ShownSession>>,
    controlled: Mutex<HashMap<String, ControlledSession>>,
}

/// A session that the viewer controls.
struct ControlledSession {
    inputs: Arc<PersonInputs>,
    /// The task that answers a dialog. It is not in the queue of the inputs, because a dialog
    /// blocks the input that opened it.
    dialog: Option<AbortOnDropHandle<()>>,
    /// Sends the notices for the person.
    _notices: AbortOnDropHandle<()>,
}

/// A session that the viewer watches.
struct ShownSession {
    request: watch::Sender<ImageRequest>,
    acknowledged: Arc<Acknowledged>,
    has_calls: bool,
    _task: AbortOnDropHandle<()>,
}

/// The number of the last image that the viewer has shown.
#[derive(Default)]
struct Acknowledged {
    number: AtomicU64,
    changed: Notify,
}

impl Acknowledged {
    fn reach(&self, number: u64) {
        self.number.fetch_max(number, Ordering::AcqRel);
        self.changed.notify_one();
    }

    async fn wait_for(&self, number: u64) {
        while self.number.load(Ordering::Acquire) < number {
            // `Notify` stores a notification that comes before the wait.
            self.changed.notified().await;
        }
    }
}

impl LiveViewer {
    /// Reads messages until the socket is closed.
    async fn read(&self, mut stream: SplitStream<WebSocket>) {
        while let Some(Ok(message)) = stream.next().await {
            let text = match &message {
                Message::Text(text) => text.as_bytes(),
                Message::Binary(bytes) => bytes,
                Message::Ping(_) | Message::Pong(_) => continue,
                Message::Close(_) => return,
            };
            match serde_json::from_slice(text) {
                Ok(message) => self.handle(message).await,
                Err(error) => {
                    let message = format!("the message of the page is invalid: {error}");
                    self.send_error("INVALID_REQUEST", &message, "reload the page").await;
                }
            }
        }
    }

    async fn handle(&self, message: ViewerMessage) {
        match message {
            ViewerMessage::Watch { sessions } => self.watch(sessions).await,
            ViewerMessage::Ack { id, frame } => {
                if let Some(shown) = self.watched.lock().get(&id) {
                    shown.acknowledged.reach(frame);
                }
            }
            _ if self.access.read_only => {
                let suggestion = "open a link of `troupe dashboard` without --read-only";
                self.send_error("READ_ONLY", "this link can only show sessions", suggestion).await;
            }
            ViewerMessage::Hold { id } => {
                if !self.access.includes(&id) || !self.take_control(&id) {
                    self.send(json!({"type": "gone", "id": id})).await;
                }
            }
            ViewerMessage::Release { id } => {
                self.finish_inputs(&id).await;
                self.state.dashboard.release(&id, &self.access.person).await;
            }
            ViewerMessage::Input { id, events } => {
                let Some(inputs) = self.inputs(&id).await else { return };
                for event in events {
                    inputs.add(event).await;
                }
            }
            ViewerMessage::Choose { id, index } => {
                if let Some(inputs) = self.inputs(&id).await {
                    inputs.choose(index).await;
                }
            }
            ViewerMessage::Done { id, question, answer } => {
                self.answer(&id, &question, answer.unwrap_or_default()).await;
            }
            ViewerMessage::Dialog { id, accept, text } => {
                if self.inputs(&id).await.is_none() {
                    return;
                }
                let (dashboard, session) = (self.state.dashboard.clone(), id.clone());
                let answering = async move {
                    let answered = dashboard.answer_dialog(&session, accept, text.as_deref()).await;
                    if let Err(error) = answered {
                        tracing::debug!(session, %error, "a dialog was not answered");
                    }
                };
                if let Some(controlled) = self.controlled.lock().get_mut(&id) {
                    controlled.dialog = Some(AbortOnDropHandle::new(tokio::spawn(answering)));
                }
            }
        }
    }

    /// Answers the question of a session, and gives control of the session back.
    async fn answer(&self, id: &str, question: &str, answer: Map<String, Value>) {
        let person = &self.access.person;
        let problem = self.state.dashboard.answer_problem(id, question, &answer);
        if let Some(problem) = problem.filter(|_| self.access.includes(id)) {
            let message = format!("the answer does not fit the question: {problem}");
            return self.send_error("INVALID_ANSWER", &message, "correct the answer").await;
        }
        self.finish_inputs(id).await;
        let is_answered = self.access.includes(id)
            && self.state.dashboard.answer_question(id, person, question, answer).await;
        if !is_answered {
            let message = format!("session `{id}` no longer asks this question");
            self.send_error("NOT_ASKED", &message, "return to the agent").await;
        }
    }

    /// Waits until the browser has processed the input so far. Rejects further input.
    async fn finish_inputs(&self, id: &str) {
        let controlled = self.controlled.lock().remove(id);
        if let Some(controlled) = controlled {
            controlled.inputs.wait_processed().await;
        }
    }

    /// Takes control of a session. Returns false if it is not open.
    fn take_control(&self, id: &str) -> bool {
        let (notices, queue) = mpsc::channel(UNSENT);
        let person = &self.access.person;
        let Some(inputs) = self.state.dashboard.take_control(id, person, notices) else {
            return false;
        };
        let sending = send_notices(id.to_owned(), queue, self.outgoing.clone());
        let controlled = ControlledSession {
            inputs: Arc::new(inputs),
            dialog: None,
            _notices: AbortOnDropHandle::new(tokio::spawn(sending)),
        };
        self.controlled.lock().insert(id.to_owned(), controlled);
        true
    }

    /// Returns the inputs of a session that the viewer controls. Otherwise, responds with an error.
    async fn inputs(&self, id: &str) -> Option<Arc<PersonInputs>> {
        if self.access.includes(id) && self.state.dashboard.is_held_by(id, &self.access.person) {
            let known = self.controlled.lock().get(id).map(|controlled| controlled.inputs.clone());
            if known.is_some() {
                return known;
            }
        }
        let message = format!("you do not control session `{id}`");
        self.send_error("NOT_HELD", &message, "take control first").await;
        None
    }

    /// Watches the sessions of `requests` instead of the previous ones.
    async fn watch(&self, requests: Vec<WatchRequest>) {
        let requested: HashSet<String> =
            requests.iter().map(|request| request.id.clone()).collect();
        self.watched.lock().retain(|id, _| requested.contains(id));
        for request in requests.into_iter().take(MAX_WATCHED) {
            if !self.watch_session(&request) {
                self.send(json!({"type": "gone", "id": request.id})).await;
            }
        }
    }

    /// Begins to watch a session, or changes its size. Returns false if it is not open.
    fn watch_session(&self, request: &WatchRequest) -> bool {
        if !self.access.includes(&request.id) {
            return false;
        }
        // The conversion of a float saturates, so invalid sizes are safe.
        let size = Viewport { width: request.width as u32, height: request.height as u32 };
        let image = ImageRequest { size, is_overview: !request.calls };
        let mut watched = self.watched.lock();
        if let Some(shown) = watched.get_mut(&request.id) {
            shown.request.send_replace(image);
            shown.has_calls = request.calls;
            return true;
        }
        let dashboard = &self.state.dashboard;
        let (Some(viewer), Some(controls)) =
            (dashboard.watch(&request.id, image), dashboard.controls(&request.id))
        else {
            return false;
        };
        // The person has reconnected and still has control.
        if dashboard.is_held_by(&request.id, &self.access.person)
            && !self.controlled.lock().contains_key(&request.id)
        {
            self.take_control(&request.id);
        }
        let control = send_control(
            request.id.clone(),
            self.access.person.clone(),
            controls,
            self.outgoing.clone(),
        );
        let acknowledged = Arc::<Acknowledged>::default();
        let (sender, requests) = watch::channel(image);
        let work = show(viewer, requests, acknowledged.clone(), self.outgoing.clone());
        let shown = ShownSession {
            request: sender,
            acknowledged,
            has_calls: request.calls,
            _task: AbortOnDropHandle::new(tokio::spawn(async move {
                tokio::join!(work, control);
            })),
        };
        watched.insert(request.id.clone(), shown);
        true
    }

    /// Sends the list of live sessions, now and whenever it changes.
    async fn send_sessions(&self) {
        let mut list = self.state.dashboard.live_list();
        let mut known = HashSet::new();
        loop {
            let sessions = list.next().await;
            let sessions: Vec<_> =
                sessions.iter().filter(|session| self.access.includes(&session.id)).collect();
            let live: HashSet<String> = sessions.iter().map(|session| session.id.clone()).collect();
            self.send(json!({"type": "sessions", "sessions": sessions})).await;
            for gone in known.difference(&live) {
                self.watched.lock().remove(gone);
                self.send(json!({"type": "gone", "id": gone})).await;
            }
            known = live;
        }
    }

    /// Sends the calls of watched sessions as they happen.
    async fn send_calls(&self) {
        let mut calls = self.state.dashboard.call_events();
        loop {
            let call = match calls.recv().await {
                Ok(call) => call,
                // The page loads missed calls from the record.
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            };
            let is_watched = call
                .session_id
                .as_ref()
                .is_some_and(|id| self.watched.lock().get(id).is_some_and(|shown| shown.has_calls));
            if is_watched {
                self.send(json!({"type": "call", "call": CallView::brief(&call)})).await;
            }
        }
    }

    async fn send(&self, message: Value) {
        // Fails only while the connection ends.
        let _ = self.outgoing.send(Message::text(message.to_string())).await;
    }

    async fn send_error(&self, code: &str, message: &str, suggestion: &str) {
        let error = json!({"code": code, "message": message, "suggestion": suggestion});
        self.send(json!({"type": "error", "error": error})).await;
    }
}

/// Sends the images of a session until the session ends.
async fn show(
    mut viewer: SessionViewer,
    mut requests: watch::Receiver<ImageRequest>,
    acknowledged: Arc<Acknowledged>,
    outgoing: mpsc::Sender<Message>,
) {
    let mut due = Instant::now();
    loop {
        let next = async {
            tokio::time::sleep_until(due).await;
            viewer.next().await
        };
        let image = tokio::select! {
            image = next => image,
            changed = requests.changed() => {
                if changed.is_err() {
                    return;
                }
                due = Instant::now();
                viewer.request(*requests.borrow_and_update());
                continue;
            }
        };
        let Some(image) = image else { return };
        if outgoing.send(Message::Binary(image.message)).await.is_err() {
            return;
        }
        // Others may watch the session itself, with more images.
        if requests.borrow().is_overview {
            due = Instant::now() + OVERVIEW_INTERVAL;
        }
        acknowledged.wait_for(image.number).await;
        viewer.shown(image.number);
    }
}

/// Sends who controls a session, its open dialog and its open file chooser when one of them
/// changes.
async fn send_control(
    id: String,
    person: Arc<str>,
    mut controls: SessionControls,
    outgoing: mpsc::Sender<Message>,
) {
    let mut last = SessionControl::default();
    while let Some(control) = controls.next().await {
        let mut messages = Vec::new();
        if control.person != last.person {
            let by = control.person.as_ref().map(|by| if *by == person { "you" } else { "other" });
            messages.push(json!({"type": "held", "id": id, "by": by}));
        }
        if control.dialog != last.dialog {
            messages.push(json!({"type": "dialog", "id": id, "dialog": control.dialog}));
        }
        if control.chooser != last.chooser {
            messages.push(json!({"type": "chooser", "id": id, "chooser": control.chooser}));
        }
        for message in messages {
            if outgoing.send(Message::text(message.to_string())).await.is_err() {
                return;
            }
        }
        last = control;
    }
}

/// Sends what the input of the viewer has caused outside of the page.
async fn send_notices(
    id: String,
    mut notices: mpsc::Receiver<PersonNotice>,
    outgoing: mpsc::Sender<Message>,
) {
    while let Some(notice) = notices.recv().await {
        let message = match notice {
            PersonNotice::Select(select) => json!({"type": "select", "id": id, "select": select}),
            PersonNotice::Failed(error) => json!({"type": "error", "id": id, "error": {
                "code": error.code.as_str(), "message": error.message,
                "suggestion": error.suggestion,
            }}),
        };
        if outgoing.send(Message::text(message.to_string())).await.is_err() {
            return;
        }
    }
}
