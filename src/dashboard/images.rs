//! Live images of the sessions that have viewers. All viewers of a session share one screencast,
//! which starts with the first viewer and ends with the last one.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    sync::{Mutex as AsyncMutex, MutexGuard, watch},
    time::{Instant, timeout},
};
use tokio_util::{bytes::Bytes, task::AbortOnDropHandle};

use crate::{
    config::Viewport,
    engine::ScreencastFrame,
    page::{Page, Screencast},
    session::Session,
    store::{Store, iso8601, now},
};

/// The JPEG quality of images, which may be scaled down.
const QUALITY: u8 = 70;
/// The minimum time between two images of a screencast.
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
/// The JPEG quality of images in an overview of sessions.
const OVERVIEW_QUALITY: u8 = 50;
/// The minimum time between two images of a session in an overview.
pub const OVERVIEW_INTERVAL: Duration = Duration::from_secs(1);
/// How long the image of a session in an overview may delay those of the others.
const CAPTURE_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause after an image of an overview, as a multiple of the time that the image took. Images
/// in immediate succession would delay the calls of all agents.
const PAUSE_FACTOR: u32 = 29;
/// The maximum pause.
const MAX_PAUSE: Duration = Duration::from_millis(250);
/// Maximum time that an image of an overview waits until no call runs: capturing it would delay the
/// call.
const IDLE_TIMEOUT: Duration = Duration::from_millis(100);
/// The minimum time between two images in browsers without a screencast.
const SCREENSHOT_INTERVAL: Duration = Duration::from_millis(500);
/// How long a viewer may take to show an image before further ones are sent to the other viewers.
const SHOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long no image arrives before the screencast starts again, if it may have skipped images.
const QUIET: Duration = Duration::from_millis(250);
/// The minimum and the maximum size of images.
const SMALLEST: Viewport = Viewport { width: 160, height: 120 };
const LARGEST: Viewport = Viewport { width: 3840, height: 2160 };

/// An image of a session, encoded once for all viewers.
#[derive(Debug, Clone)]
pub struct LiveImage {
    /// Grows with each image of a session.
    pub number: u64,
    /// The length of the JSON header, the header, and the JPEG. Clones share the memory.
    pub message: Bytes,
}

/// How a viewer shows a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageRequest {
    pub size: Viewport,
    /// Whether the viewer shows an overview of sessions, for which images may be few and coarse.
    pub is_overview: bool,
}

/// The sessions that are being watched.
pub(super) struct WatchedSessions {
    sessions: Mutex<HashMap<Arc<str>, Weak<WatchedSession>>>,
    captures: Arc<OverviewCaptures>,
}

/// Lets one session of the overviews capture an image at a time, with pauses between them, and if
/// possible while no call runs.
struct OverviewCaptures {
    store: Store,
    /// When the next session may capture an image.
    next: AsyncMutex<Instant>,
}

/// The turn of a session to capture an image. The pause begins when it is dropped.
struct CaptureTurn<'a> {
    next: MutexGuard<'a, Instant>,
    begun: Instant,
}

impl OverviewCaptures {
    /// Waits for the turn of a session. The first image of a session waits only for the images of
    /// others.
    async fn turn(&self, is_first: bool) -> CaptureTurn<'_> {
        let next = self.next.lock().await;
        if !is_first {
            tokio::time::sleep_until(*next).await;
            let _ = timeout(IDLE_TIMEOUT, self.store.wait_idle()).await;
        }
        CaptureTurn { next, begun: Instant::now() }
    }
}

impl Drop for CaptureTurn<'_> {
    fn drop(&mut self) {
        let pause = (self.begun.elapsed() * PAUSE_FACTOR).min(MAX_PAUSE);
        *self.next = Instant::now() + pause;
    }
}

/// A session that somebody watches.
struct WatchedSession {
    channels: Arc<ImageChannels>,
    /// Ends the screencast when the last viewer leaves.
    _task: AbortOnDropHandle<()>,
}

struct ImageChannels {
    /// Only the newest image is kept.
    images: watch::Sender<Option<LiveImage>>,
    /// What each viewer shows, by the number of the viewer.
    requests: watch::Sender<HashMap<u64, ImageRequest>>,
    next_viewer: AtomicU64,
    /// The number of the last image that a viewer has shown.
    shown: watch::Sender<u64>,
    captures: Arc<OverviewCaptures>,
}

/// A viewer of a session, until it is dropped.
pub struct SessionViewer {
    watched: Arc<WatchedSession>,
    number: u64,
    images: watch::Receiver<Option<LiveImage>>,
}

impl SessionViewer {
    /// Waits for an image that this viewer has not got yet. Skips all but the newest. `None` when
    /// the session has ended.
    pub async fn next(&mut self) -> Option<LiveImage> {
        loop {
            self.images.changed().await.ok()?;
            let newest = self.images.borrow_and_update().clone();
            if newest.is_some() {
                return newest;
            }
        }
    }

    /// Records that the viewer has shown the image `number`.
    pub fn shown(&self, number: u64) {
        self.watched.channels.shown.send_if_modified(|shown| {
            let is_newer = number > *shown;
            *shown = number.max(*shown);
            is_newer
        });
    }

    /// Sets how the viewer shows the session.
    pub fn request(&self, request: ImageRequest) {
        self.watched
            .channels
            .requests
            .send_if_modified(|requests| requests.insert(self.number, request) != Some(request));
    }
}

impl Drop for SessionViewer {
    fn drop(&mut self) {
        self.watched
            .channels
            .requests
            .send_if_modified(|requests| requests.remove(&self.number).is_some());
    }
}

impl WatchedSessions {
    /// `store` knows which calls run.
    pub fn new(store: Store) -> Self {
        let captures = OverviewCaptures { store, next: AsyncMutex::new(Instant::now()) };
        Self { sessions: Mutex::default(), captures: Arc::new(captures) }
    }

    /// Begins to watch a session.
    pub fn watch(&self, session: &Arc<Session>, request: ImageRequest) -> SessionViewer {
        let watched = {
            let mut sessions = self.sessions.lock();
            sessions.retain(|_, watched| watched.strong_count() > 0);
            let known = sessions.get(&session.id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let watched =
                    Arc::new(WatchedSession::begin(session.clone(), self.captures.clone()));
                sessions.insert(session.id.clone(), Arc::downgrade(&watched));
                watched
            })
        };
        let number = watched.channels.next_viewer.fetch_add(1, Ordering::AcqRel);
        let mut images = watched.channels.images.subscribe();
        // The current image is new for this viewer.
        images.mark_changed();
        let viewer = SessionViewer { watched, number, images };
        viewer.request(request);
        viewer
    }
}

impl WatchedSession {
    fn begin(session: Arc<Session>, captures: Arc<OverviewCaptures>) -> Self {
        let channels = Arc::new(ImageChannels {
            images: watch::Sender::new(None),
            requests: watch::Sender::new(HashMap::new()),
            next_viewer: AtomicU64::new(0),
            shown: watch::Sender::new(0),
            captures,
        });
        let work = {
            let channels = channels.clone();
            async move {
                tokio::select! {
                    () = channels.send_images(&session) => {}
                    () = session.wait_ended() => {}
                }
            }
        };
        Self { channels, _task: AbortOnDropHandle::new(tokio::spawn(work)) }
    }
}

impl ImageChannels {
    /// Sends images of the current page of `session`.
    async fn send_images(&self, session: &Session) {
        let mut news = session.change_counter().subscribe();
        let mut requests = self.requests.subscribe();
        loop {
            news.mark_unchanged();
            requests.mark_unchanged();
            let (page, request) = (session.current_page(), self.combined_request());
            let current = page.as_ref().map(|page| page.id.clone());
            let changed = async {
                loop {
                    // `self` and the session own the senders: both channels stay open.
                    tokio::select! {
                        _ = news.changed() => {}
                        _ = requests.changed() => {}
                    }
                    let now = session.current_page().map(|page| page.id.clone());
                    if now != current || self.combined_request() != request {
                        return;
                    }
                }
            };
            let sending = async {
                if let (Some(page), Some(request)) = (&page, request) {
                    self.send_images_of(session, page, request).await;
                }
                // The page has closed or crashed, or nobody watches it: wait for a change.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = changed => {}
                () = sending => {}
            }
        }
    }

    /// Returns the request of the largest viewer. It is an overview if all viewers show one.
    fn combined_request(&self) -> Option<ImageRequest> {
        let requests = self.requests.borrow();
        let sizes = || requests.values().map(|request| request.size);
        let size = Viewport {
            width: sizes().map(|size| size.width).max()?.clamp(SMALLEST.width, LARGEST.width),
            height: sizes().map(|size| size.height).max()?.clamp(SMALLEST.height, LARGEST.height),
        };
        let is_overview = requests.values().all(|request| request.is_overview);
        Some(ImageRequest { size, is_overview })
    }

    async fn send_images_of(&self, session: &Session, page: &Page, request: ImageRequest) {
        let ImageRequest { size, is_overview } = request;
        let quality = if is_overview { OVERVIEW_QUALITY } else { QUALITY };
        let mut last = Vec::new();
        loop {
            let is_first = self.images.borrow().is_none();
            let mut turn =
                if is_overview { Some(self.captures.turn(is_first).await) } else { None };
            let mut starting = pin!(page.screencast(size, quality));
            let started = match timeout(CAPTURE_TIMEOUT, &mut starting).await {
                Ok(started) => started,
                Err(_) => {
                    turn = None;
                    starting.await
                }
            };
            match started {
                Ok(Some(screencast)) => {
                    let must_restart = if is_overview {
                        self.send_overview(session, page, screencast, turn, &mut last).await
                    } else {
                        self.send_screencast(session, page, screencast).await
                    };
                    if !must_restart {
                        return;
                    }
                }
                Ok(None) => {
                    drop(turn);
                    return self.send_screenshots(session, page, request).await;
                }
                Err(error) => {
                    tracing::debug!(session = &*session.id, %error, "no live images");
                    return;
                }
            }
        }
    }

    /// Sends an image for overviews when the page differs from `last`, the last image. `turn` ends
    /// with the first image of the screencast. Returns true when the screencast may be
    /// started again, and false if the page has closed.
    async fn send_overview(
        &self,
        session: &Session,
        page: &Page,
        mut screencast: Screencast<'_>,
        mut turn: Option<CaptureTurn<'_>>,
        last: &mut Vec<u8>,
    ) -> bool {
        let begun = Instant::now();
        loop {
            let next = tokio::select! {
                next = screencast.next() => next,
                () = tokio::time::sleep_until(begun + CAPTURE_TIMEOUT), if turn.is_some() => {
                    turn = None;
                    continue;
                }
            };
            turn = None;
            let Some(frame) = next else { return false };
            if frame.jpeg == *last {
                screencast.acknowledge(frame.number);
                continue;
            }
            let due = Instant::now() + OVERVIEW_INTERVAL;
            // Otherwise Chromium encodes images that are not sent, until the next one is due.
            drop(screencast);
            self.publish(session, page, &frame);
            *last = frame.jpeg;
            self.wait_shown().await;
            tokio::time::sleep_until(due).await;
            return true;
        }
    }

    /// Sends images until the page closes. Returns true if the screencast must be started again to
    /// get the current image.
    async fn send_screencast(
        &self,
        session: &Session,
        page: &Page,
        mut screencast: Screencast<'_>,
    ) -> bool {
        let begun = Instant::now();
        let mut may_have_skipped = false;
        loop {
            let arrived = screencast.arrived();
            let is_late = arrived.is_some();
            let mut frame = match arrived {
                Some(frame) => frame,
                None if may_have_skipped => match timeout(QUIET, screencast.next()).await {
                    Ok(Some(frame)) => frame,
                    Ok(None) => return false,
                    Err(_) => return true,
                },
                None => match screencast.next().await {
                    Some(frame) => frame,
                    None => return false,
                },
            };
            // Chromium drops images while two are not acknowledged. The first ones arrive
            // together, which does not mean that others were dropped.
            may_have_skipped = is_late && begun.elapsed() > QUIET;
            while let Some(newer) = screencast.arrived() {
                screencast.acknowledge(frame.number);
                frame = newer;
            }
            let number = frame.number;
            let due = Instant::now() + FRAME_INTERVAL;
            self.publish(session, page, &frame);
            self.wait_shown().await;
            tokio::time::sleep_until(due).await;
            screencast.acknowledge(number);
        }
    }

    /// Takes screenshots at an interval, except during calls of the session, which they would
    /// delay. A person who has control or is asked a question gets them during calls too.
    async fn send_screenshots(&self, session: &Session, page: &Page, request: ImageRequest) {
        let interval = if request.is_overview { OVERVIEW_INTERVAL } else { SCREENSHOT_INTERVAL };
        while page.is_open() {
            let due = Instant::now() + interval;
            let needs_person =
                session.pending_question().is_some() || session.controller().is_some();
            if (needs_person || !session.is_running()) && page.dialog().is_none() {
                match page.live_image(QUALITY).await {
                    Ok(frame) => {
                        self.publish(session, page, &frame);
                        self.wait_shown().await;
                    }
                    Err(error) => tracing::debug!(%error, "no live image"),
                }
            }
            tokio::time::sleep_until(due).await;
        }
    }

    fn publish(&self, session: &Session, page: &Page, frame: &ScreencastFrame) {
        self.images.send_modify(|image| {
            let number = image.as_ref().map_or(1, |image| image.number + 1);
            let message = encoded(&session.id, &page.id, number, frame);
            *image = Some(LiveImage { number, message });
        });
    }

    /// Waits until a viewer has shown the newest image.
    async fn wait_shown(&self) {
        let newest = self.images.borrow().as_ref().map_or(0, |image| image.number);
        let mut shown = self.shown.subscribe();
        let _ = timeout(SHOWN_TIMEOUT, shown.wait_for(|shown| *shown >= newest)).await;
    }
}

/// Encodes the message with an image. `width` and `height` are those of the viewport in CSS pixels.
fn encoded(session: &str, page: &str, number: u64, frame: &ScreencastFrame) -> Bytes {
    let header = json!({
        "id": session, "frame": number, "page": page, "width": frame.width,
        "height": frame.height, "takenAt": iso8601(now()),
    });
    let header = header.to_string();
    let length = u32::try_from(header.len()).unwrap_or_default();
    let mut message = Vec::with_capacity(4 + header.len() + frame.jpeg.len());
    message.extend(length.to_be_bytes());
    message.extend(header.as_bytes());
    message.extend(&frame.jpeg);
    message.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        store::{NewAnswer, NewRequest},
    };

    const IMAGE: Duration = Duration::from_millis(5);
    const PAUSE: Duration = Duration::from_millis(145);

    fn store() -> Store {
        Store::open(&Config { store: Some("memory".into()), ..Config::default() }).unwrap()
    }

    /// Captures an image that takes `time`. Returns how long it waited for its turn.
    async fn capture(captures: &OverviewCaptures, is_first: bool, time: Duration) -> Duration {
        let begun = Instant::now();
        let turn = captures.turn(is_first).await;
        let waited = begun.elapsed();
        tokio::time::sleep(time).await;
        drop(turn);
        waited
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_follows_each_image_of_an_overview() {
        let captures = WatchedSessions::new(store()).captures;
        assert_eq!(capture(&captures, false, IMAGE).await, Duration::ZERO);
        assert_eq!(capture(&captures, false, Duration::from_secs(1)).await, PAUSE);
        assert_eq!(capture(&captures, false, IMAGE).await, MAX_PAUSE);
        assert_eq!(capture(&captures, true, IMAGE).await, Duration::ZERO, "the first image");
        let both = tokio::join!(capture(&captures, false, IMAGE), capture(&captures, false, IMAGE));
        assert_eq!(both, (PAUSE, PAUSE + IMAGE + PAUSE), "one image at a time");
    }

    #[tokio::test(start_paused = true)]
    async fn an_image_of_an_overview_waits_for_running_calls_for_a_short_time() {
        let store = store();
        let call = Arc::new(NewRequest {
            ref_id: "call".into(),
            session_id: None,
            connection_id: "c".into(),
            tool: "click".into(),
            params: "{}".into(),
            at: now(),
        });
        store.request(call.clone()).await.unwrap();
        let captures = WatchedSessions::new(store.clone()).captures;
        assert_eq!(capture(&captures, false, Duration::ZERO).await, IDLE_TIMEOUT);
        let waiting = capture(&captures, false, Duration::ZERO);
        let ended = async { store.answer(call, NewAnswer::default()).await.unwrap() };
        assert_eq!(tokio::join!(waiting, ended).0, Duration::ZERO);
    }
}
