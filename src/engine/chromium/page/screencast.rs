//! The screencast of a page: JPEG images that Chromium sends when it paints the page.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chromiumoxide::cdp::browser_protocol::page::{
    ScreencastFrameAckParams, StartScreencastFormat, StartScreencastParams, StopScreencastParams,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::{
    config::Viewport,
    engine::{
        EngineResult, ScreencastFrame,
        chromium::{
            emulation::keep_painted,
            session::{CdpSession, parse_event},
        },
    },
    offload,
};

/// The receiver of the images while there is a screencast.
pub(super) struct CdpScreencast {
    frames: Mutex<Option<mpsc::Sender<ScreencastFrame>>>,
    /// Whether the page has the screencast of [`keep_painted`] at other times.
    keeps_painted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameEvent {
    data: String,
    metadata: FrameMetadata,
    session_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameMetadata {
    device_width: f64,
    device_height: f64,
}

impl CdpScreencast {
    pub fn new(keeps_painted: bool) -> Self {
        Self { frames: Mutex::default(), keeps_painted }
    }

    /// Starts a screencast in place of the current one.
    pub async fn start(
        &self,
        cdp: &CdpSession,
        size: Viewport,
        quality: u8,
        frames: mpsc::Sender<ScreencastFrame>,
    ) -> EngineResult<()> {
        if self.frames.lock().replace(frames).is_some() || self.keeps_painted {
            drop(cdp.post(StopScreencastParams {})?);
        }
        let params = StartScreencastParams {
            format: Some(StartScreencastFormat::Jpeg),
            quality: Some(quality.into()),
            max_width: Some(size.width.into()),
            max_height: Some(size.height.into()),
            every_nth_frame: None,
        };
        cdp.run(params).await
    }

    /// Passes on an image.
    pub fn received(&self, cdp: &CdpSession, method: &str, params: &RawValue) {
        let Some(frames) = self.frames.lock().clone() else { return };
        let Some(event) = parse_event::<FrameEvent>(method, params) else { return };
        let FrameEvent { data, metadata, session_id: number } = event;
        let decoded = offload::in_place(data.len(), || STANDARD.decode(&data));
        let FrameMetadata { device_width: width, device_height: height } = metadata;
        let sent = decoded.is_ok_and(|jpeg| {
            frames.try_send(ScreencastFrame { number, jpeg, width, height }).is_ok()
        });
        if !sent {
            // Without an acknowledgment, Chromium would send no further image.
            self.acknowledge(cdp, number);
        }
    }

    pub fn acknowledge(&self, cdp: &CdpSession, number: i64) {
        // Fails only if the page has gone.
        drop(cdp.post(ScreencastFrameAckParams::new(number)));
    }

    pub fn stop(&self, cdp: &CdpSession) {
        if self.frames.lock().take().is_some() {
            drop(cdp.post(StopScreencastParams {}));
            if self.keeps_painted {
                drop(cdp.post(keep_painted()));
            }
        }
    }
}
