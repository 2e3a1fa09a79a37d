//! Live images of the sessions that have viewers. All viewers of a session share one screencast,
//! which starts with the first viewer and ends with the last one.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{sync::watch, time::Instant};
use tokio_util::{bytes::Bytes, task::AbortOnDropHandle};

use crate::{
    config::Viewport,
    engine::ScreencastFrame,
    page::{Page, Screencast},
    session::Session,
    store::{iso8601, now},
};

/// The JPEG quality of images, which may be scaled down.
const QUALITY: u8 = 70;
/// The minimum time between two images of a screencast.
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
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

/// The sessions that are being watched.
#[derive(Default)]
pub(super) struct WatchedSessions(Mutex<HashMap<Arc<str>, Weak<WatchedSession>>>);

/// A session that somebody watches.
struct WatchedSession {
    channels: Arc<ImageChannels>,
    /// Ends the screencast when the last viewer leaves.
    _task: AbortOnDropHandle<()>,
}

struct ImageChannels {
    /// Only the newest image is kept.
    images: watch::Sender<Option<LiveImage>>,
    /// The size that each viewer shows, by the number of the viewer.
    sizes: watch::Sender<HashMap<u64, Viewport>>,
    next_viewer: AtomicU64,
    /// The number of the last image that a viewer has shown.
    shown: watch::Sender<u64>,
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

    /// Sets the size in which the viewer shows the session.
    pub fn resize(&self, size: Viewport) {
        self.watched
            .channels
            .sizes
            .send_if_modified(|sizes| sizes.insert(self.number, size) != Some(size));
    }
}

impl Drop for SessionViewer {
    fn drop(&mut self) {
        self.watched.channels.sizes.send_if_modified(|sizes| sizes.remove(&self.number).is_some());
    }
}

impl WatchedSessions {
    /// Begins to watch a session.
    pub fn watch(&self, session: &Arc<Session>, size: Viewport) -> SessionViewer {
        let watched = {
            let mut sessions = self.0.lock();
            sessions.retain(|_, watched| watched.strong_count() > 0);
            let known = sessions.get(&session.id).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let watched = Arc::new(WatchedSession::begin(session.clone()));
                sessions.insert(session.id.clone(), Arc::downgrade(&watched));
                watched
            })
        };
        let number = watched.channels.next_viewer.fetch_add(1, Ordering::AcqRel);
        let mut images = watched.channels.images.subscribe();
        // The current image is new for this viewer.
        images.mark_changed();
        let viewer = SessionViewer { watched, number, images };
        viewer.resize(size);
        viewer
    }
}

impl WatchedSession {
    fn begin(session: Arc<Session>) -> Self {
        let channels = Arc::new(ImageChannels {
            images: watch::Sender::new(None),
            sizes: watch::Sender::new(HashMap::new()),
            next_viewer: AtomicU64::new(0),
            shown: watch::Sender::new(0),
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
        let (mut news, mut sizes) = (session.change_counter().subscribe(), self.sizes.subscribe());
        loop {
            news.mark_unchanged();
            sizes.mark_unchanged();
            let (page, size) = (session.current_page(), self.largest_size());
            let current = page.as_ref().map(|page| page.id.clone());
            let changed = async {
                loop {
                    // `self` and the session own the senders: both channels stay open.
                    tokio::select! {
                        _ = news.changed() => {}
                        _ = sizes.changed() => {}
                    }
                    let now = session.current_page().map(|page| page.id.clone());
                    if now != current || self.largest_size() != size {
                        return;
                    }
                }
            };
            let sending = async {
                if let (Some(page), Some(size)) = (&page, size) {
                    self.send_images_of(session, page, size).await;
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

    /// Returns the size of the largest viewer.
    fn largest_size(&self) -> Option<Viewport> {
        let sizes = self.sizes.borrow();
        Some(Viewport {
            width: sizes
                .values()
                .map(|size| size.width)
                .max()?
                .clamp(SMALLEST.width, LARGEST.width),
            height: sizes
                .values()
                .map(|size| size.height)
                .max()?
                .clamp(SMALLEST.height, LARGEST.height),
        })
    }

    async fn send_images_of(&self, session: &Session, page: &Page, size: Viewport) {
        loop {
            match page.screencast(size, QUALITY).await {
                Ok(Some(screencast)) => {
                    if !self.send_screencast(session, page, screencast).await {
                        return;
                    }
                }
                Ok(None) => return self.send_screenshots(session, page).await,
                Err(error) => {
                    tracing::debug!(session = &*session.id, %error, "no live images");
                    return;
                }
            }
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
                None if may_have_skipped => {
                    match tokio::time::timeout(QUIET, screencast.next()).await {
                        Ok(Some(frame)) => frame,
                        Ok(None) => return false,
                        Err(_) => return true,
                    }
                }
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
    async fn send_screenshots(&self, session: &Session, page: &Page) {
        while page.is_open() {
            let due = Instant::now() + SCREENSHOT_INTERVAL;
            let needs_person = session.pending_question().is_some() || session.holder().is_some();
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
        let _ = tokio::time::timeout(SHOWN_TIMEOUT, shown.wait_for(|shown| *shown >= newest)).await;
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
