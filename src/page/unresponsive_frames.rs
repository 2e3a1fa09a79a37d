//! Child frames that a script blocks while the rest of the page responds. They must not delay calls that concern
//! the whole page.

use std::{collections::HashMap, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use url::Url;

use super::Page;
use crate::{
    engine::{FrameId, World},
    error::{ErrorCode, Result, TroupeError},
};

/// How long a frame of another site may take to run a script that does nothing.
const RESPONDS_WITHIN: Duration = Duration::from_millis(500);

/// `details.reason` of a call that an unresponsive frame did not answer.
const UNRESPONSIVE: &str = "unresponsive";

/// The frames of a page that did not respond in time, each with the script that it has yet to run: it responds again once
/// that has run.
#[derive(Default)]
pub(super) struct UnresponsiveFrames(Mutex<HashMap<FrameId, BoxFuture<'static, ()>>>);

impl UnresponsiveFrames {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, BoxFuture<'static, ()>>> {
        self.0.lock()
    }

    /// Whether `frame` has still not run the script that it was sent.
    pub fn contains(&self, frame: &FrameId) -> bool {
        let mut frames = self.lock();
        let Some(probe) = frames.get_mut(frame) else { return false };
        let has_run = probe.now_or_never().is_some();
        if has_run {
            frames.remove(frame);
        }
        !has_run
    }
}

/// Returns whether `error` reports a frame that did not respond.
pub(super) fn is_unresponsive(error: &TroupeError) -> bool {
    error.details.get("reason").is_some_and(|reason| reason == UNRESPONSIVE)
}

impl Page {
    /// Calls `name` of our script in a frame, for an answer about the whole page. Fails soon where the frame is of another
    /// site and unresponsive: it may run in a process of its own. A frame of the page's process shares its event loop.
    pub(super) async fn ask_frame(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: Value,
    ) -> Result<Value> {
        if !self.is_of_another_host(frame) {
            return self.inject_in(frame, name, arguments).await;
        }
        if self.unresponsive_frames.contains(frame) {
            return Err(self.unresponsive(frame));
        }
        let (engine, asked) = (self.engine.clone(), frame.clone());
        let mut probe: BoxFuture<'static, ()> =
            async move { drop(engine.evaluate(&asked, World::Isolated, "0").await) }.boxed();
        // Sent right behind the probe: where the frame responds, nothing is waited for.
        let call = self.inject_in(frame, name, arguments);
        tokio::pin!(call);
        let responds = tokio::select! {
            biased;
            in_time = tokio::time::timeout(RESPONDS_WITHIN, &mut probe) => in_time.is_ok(),
            answer = &mut call => return answer,
        };
        if responds {
            return call.await;
        }
        let present = self.state.read(|facts| facts.frames.keys().cloned().collect::<Vec<_>>());
        let mut frames = self.unresponsive_frames.lock();
        frames.retain(|frame, _| present.contains(frame));
        frames.insert(frame.clone(), probe);
        drop(frames);
        Err(self.unresponsive(frame))
    }

    /// Whether the nearest document around `frame` that has a host has another one than the page.
    fn is_of_another_host(&self, frame: &FrameId) -> bool {
        if frame == self.main_frame() {
            return false;
        }
        let host =
            |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        self.state.read(|facts| {
            let main = facts.frames.get(self.main_frame()).and_then(|main| host(&main.url));
            let mut at = facts.frames.get(frame);
            // `about:blank` and `data:` documents may be in the process of the document around them.
            while let Some(inner) = at {
                if let Some(host) = host(&inner.url) {
                    return Some(host) != main;
                }
                at = inner.parent.as_ref().and_then(|parent| facts.frames.get(parent));
            }
            false
        })
    }

    fn unresponsive(&self, frame: &FrameId) -> TroupeError {
        let url = self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.url.clone()));
        let url = url.unwrap_or_default();
        TroupeError::new(
            ErrorCode::Timeout,
            format!("the frame at `{url}` is unresponsive: a script is blocking its main thread"),
        )
        .detail("reason", UNRESPONSIVE)
        .suggestion("wait and call again; the rest of the page can be used")
    }
}
