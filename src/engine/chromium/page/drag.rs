//! Drags of the browser's own that are handed to us in place of the desktop.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use chromiumoxide::cdp::browser_protocol::input::{DispatchDragEventType, SetInterceptDragsParams};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::engine::{
    EngineError, EngineResult,
    chromium::{Link, RawCommand},
};

/// A drag that the browser has begun is handed over at once, or never.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What the last intercepted drag holds, and the news of one.
#[derive(Default)]
pub(super) struct Drag {
    data: Mutex<Option<Value>>,
    news: watch::Sender<()>,
}

/// What `Input.dragIntercepted` tells.
#[derive(Deserialize)]
pub(super) struct Intercepted {
    data: Value,
}

impl Drag {
    fn data(&self) -> MutexGuard<'_, Option<Value>> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn intercept(&self, link: &Link, on: bool) -> EngineResult<()> {
        *self.data() = None;
        link.run(SetInterceptDragsParams::new(on)).await
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

    /// What the drag holds, once the browser has handed it over.
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
