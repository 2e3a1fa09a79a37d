//! Child frames that a script blocks while the rest of the page responds. They must not delay calls
//! that concern the whole page.

use std::{collections::HashMap, time::Duration};

use futures_util::{FutureExt as _, future::BoxFuture};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use url::Url;

use crate::{
    engine::{FrameId, World},
    error::{ErrorCode, Result, TroupeError},
    page::Page,
};

/// How long a frame of another host may take to run an empty script.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);

/// `details.reason` of a call to a frame that is unresponsive.
const UNRESPONSIVE: &str = "unresponsive";

/// The frames of a page that did not respond in time, each with a pending empty script. The frame
/// responds again when that script has run.
#[derive(Default)]
pub(in crate::page) struct UnresponsiveFrames(Mutex<HashMap<FrameId, BoxFuture<'static, ()>>>);

impl UnresponsiveFrames {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, BoxFuture<'static, ()>>> {
        self.0.lock()
    }

    /// Returns whether `frame` has not run its pending script yet.
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
pub(in crate::page) fn is_unresponsive(error: &TroupeError) -> bool {
    error.details.get("reason").is_some_and(|reason| reason == UNRESPONSIVE)
}

impl Page {
    /// Calls `name` of the injected script in a frame, for a result about the whole page. Fails
    /// after a short time if the frame is cross-site and unresponsive. A frame in the page's
    /// process shares its event loop, so it is not tested.
    pub(in crate::page) async fn call_injected_if_responsive(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: Value,
    ) -> Result<Value> {
        if !self.is_of_another_host(frame) {
            return self.call_injected_in(frame, name, arguments).await;
        }
        if self.unresponsive_frames.contains(frame) {
            return Err(self.unresponsive(frame));
        }
        let (engine, probed) = (self.engine.clone(), frame.clone());
        let mut probe: BoxFuture<'static, ()> =
            async move { drop(engine.evaluate(&probed, World::Isolated, "0").await) }.boxed();
        // Sent directly after the probe, so that a responsive frame causes no delay.
        let call = self.call_injected_in(frame, name, arguments);
        tokio::pin!(call);
        let responds = tokio::select! {
            biased;
            in_time = tokio::time::timeout(RESPONSE_TIMEOUT, &mut probe) => in_time.is_ok(),
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

    /// Returns whether the nearest document around `frame` that has a host has another one than the
    /// page.
    fn is_of_another_host(&self, frame: &FrameId) -> bool {
        if frame == self.main_frame() {
            return false;
        }
        let host =
            |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        self.state.read(|facts| {
            let main = facts.frames.get(self.main_frame()).and_then(|main| host(&main.url));
            let mut at = facts.frames.get(frame);
            // `about:blank` and `data:` documents may be in the process of the document around
            // them.
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
        .suggestion("wait and call again; the rest of the page is usable")
    }
}
