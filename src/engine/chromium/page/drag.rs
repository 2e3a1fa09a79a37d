//! Drags that the browser hands to Troupe instead of the desktop (drag interception).

use std::{sync::Arc, time::Duration};

use chromiumoxide::cdp::browser_protocol::input::{DispatchDragEventType, SetInterceptDragsParams};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::watch};

use crate::engine::{
    EngineError, EngineResult,
    chromium::{Link, RawCommand},
    connection::Sent,
};

/// A drag that the browser has begun is handed over at once, or never.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The data of the last intercepted drag, and a notification of a new one.
#[derive(Default)]
pub(super) struct Drag {
    data: Mutex<Option<Value>>,
    news: watch::Sender<()>,
    /// How many cancellations run.
    canceling: watch::Sender<usize>,
}

/// What `Input.dragIntercepted` tells.
#[derive(Deserialize)]
pub(super) struct Intercepted {
    data: Value,
}

impl Drag {
    fn data(&self) -> MutexGuard<'_, Option<Value>> {
        self.data.lock()
    }

    pub async fn intercept(&self, link: &Link, on: bool) -> EngineResult<()> {
        self.canceled().await;
        *self.data() = None;
        link.run(SetInterceptDragsParams::new(on)).await
    }

    /// Cancels the drag that was intercepted, if any, and stops the interception, once `release` is answered: a move before it
    /// may have started a drag. Nothing is awaited here; later input waits for it by [`Drag::canceled`].
    pub fn cancel(self: &Arc<Self>, link: &Link, release: Vec<Sent>) {
        // Without a runtime the process ends, and the browser with it.
        let Ok(runtime) = Handle::try_current() else { return };
        let (drag, link) = (self.clone(), link.clone());
        self.canceling.send_modify(|running| *running += 1);
        runtime.spawn(async move {
            let released = async {
                for answer in release {
                    // Fails where the page is gone, which ends the drag.
                    drop(answer.raw().await);
                }
            };
            // A dialog of the page may keep the release from being answered.
            drop(tokio::time::timeout(TIMEOUT, released).await);
            let data = drag.data().take();
            if let Some(data) = data {
                let kind = DispatchDragEventType::DragCancel;
                let params = json!({"type": kind.as_ref(), "x": 0, "y": 0, "data": data});
                drop(link.post(RawCommand { method: "Input.dispatchDragEvent", params }));
            }
            drop(link.post(SetInterceptDragsParams::new(false)));
            drag.canceling.send_modify(|running| *running -= 1);
        });
    }

    /// Waits until canceled drags are over.
    pub async fn canceled(&self) {
        // The sender lives as long as the page.
        drop(self.canceling.subscribe().wait_for(|running| *running == 0).await);
    }

    pub fn intercepted(&self, drag: Intercepted) {
        *self.data() = Some(drag.data);
        self.news.send_replace(());
    }

    /// Tells the page what becomes of the drag at a place.
    pub async fn dispatch(
        &self,
        link: &Link,
        kind: DispatchDragEventType,
        x: f64,
        y: f64,
    ) -> EngineResult<()> {
        let data = self.handed_over().await?;
        let params = json!({"type": kind.as_ref(), "x": x, "y": y, "data": data});
        link.run(RawCommand { method: "Input.dispatchDragEvent", params }).await
    }

    /// Returns the data of the drag when the browser has reported it.
    async fn handed_over(&self) -> EngineResult<Value> {
        let mut news = self.news.subscribe();
        let handed = tokio::time::timeout(TIMEOUT, async {
            loop {
                if let Some(data) = self.data().clone() {
                    return data;
                }
                // The sender lives as long as the page.
                let _ = news.changed().await;
            }
        });
        handed.await.map_err(|_| EngineError::TimedOut(TIMEOUT))
    }
}
