//! Drag interception: the browser reports a native drag to Troupe instead of the desktop.

use std::{sync::Arc, time::Duration};

use chromiumoxide::cdp::browser_protocol::input::{DispatchDragEventType, SetInterceptDragsParams};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{runtime::Handle, sync::watch};

use crate::engine::{
    EngineError, EngineResult,
    chromium::session::{CdpSession, RawCommand},
    connection::PendingCall,
};

/// Maximum time for the browser to report a drag. It does so at once or never.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The data of the last intercepted drag, and a notification of a new one.
#[derive(Default)]
pub(super) struct InterceptedDrag {
    data: Mutex<Option<Value>>,
    arrived: watch::Sender<()>,
    /// The number of running cancellations.
    canceling: watch::Sender<usize>,
}

/// The parameters of `Input.dragIntercepted`.
#[derive(Deserialize)]
pub(super) struct DragIntercepted {
    data: Value,
}

impl InterceptedDrag {
    fn data(&self) -> MutexGuard<'_, Option<Value>> {
        self.data.lock()
    }

    pub async fn intercept(&self, cdp: &CdpSession, on: bool) -> EngineResult<()> {
        self.await_cancellations().await;
        *self.data() = None;
        cdp.run(SetInterceptDragsParams::new(on)).await
    }

    /// Cancels the intercepted drag, if any, and stops the interception. First waits for the
    /// responses of `release`, because a move before it may have started a drag. Returns at once;
    /// later input waits with [`Self::await_cancellations`].
    pub fn cancel(self: &Arc<Self>, cdp: &CdpSession, release: Vec<PendingCall>) {
        // Without a runtime, the process and its browser are ending.
        let Ok(runtime) = Handle::try_current() else { return };
        let (drag, cdp) = (self.clone(), cdp.clone());
        self.canceling.send_modify(|running| *running += 1);
        runtime.spawn(async move {
            let released = async {
                for answer in release {
                    // Fails if the page has gone, which ends the drag.
                    drop(answer.raw().await);
                }
            };
            // A dialog of the page may block the response.
            drop(tokio::time::timeout(TIMEOUT, released).await);
            let data = drag.data().take();
            if let Some(data) = data {
                let kind = DispatchDragEventType::DragCancel;
                let params = json!({"type": kind.as_ref(), "x": 0, "y": 0, "data": data});
                drop(cdp.post(RawCommand { method: "Input.dispatchDragEvent", params }));
            }
            drop(cdp.post(SetInterceptDragsParams::new(false)));
            drag.canceling.send_modify(|running| *running -= 1);
        });
    }

    /// Waits until all cancellations have finished.
    pub async fn await_cancellations(&self) {
        // The sender lives as long as the page.
        drop(self.canceling.subscribe().wait_for(|running| *running == 0).await);
    }

    pub fn intercepted(&self, drag: DragIntercepted) {
        *self.data() = Some(drag.data);
        self.arrived.send_replace(());
    }

    /// Dispatches a drag event at a point.
    pub async fn dispatch(
        &self,
        cdp: &CdpSession,
        kind: DispatchDragEventType,
        x: f64,
        y: f64,
    ) -> EngineResult<()> {
        let data = self.await_data().await?;
        let params = json!({"type": kind.as_ref(), "x": x, "y": y, "data": data});
        cdp.run(RawCommand { method: "Input.dispatchDragEvent", params }).await
    }

    /// Returns the data of the drag when the browser has reported it.
    async fn await_data(&self) -> EngineResult<Value> {
        let mut arrived = self.arrived.subscribe();
        let data = tokio::time::timeout(TIMEOUT, async {
            loop {
                if let Some(data) = self.data().clone() {
                    return data;
                }
                // The sender lives as long as the page.
                let _ = arrived.changed().await;
            }
        });
        data.await.map_err(|_| EngineError::TimedOut(TIMEOUT))
    }
}
