//! Live images of the page, for people who watch it.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tokio::sync::mpsc;

use crate::{
    config::Viewport,
    engine::{EngineError, EngineResult, ImageFormat, ScreencastFrame, ScreenshotOptions, World},
    page::Page,
};

/// Timeout for a single image.
const IMAGE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of images that the browser sends ahead of their acknowledgments.
const UNACKNOWLEDGED: usize = 8;
/// The expression for the size of the viewport.
const VIEWPORT: &str = "[innerWidth, innerHeight]";

/// The images of a screencast, until it is dropped.
pub struct Screencast<'a> {
    page: &'a Page,
    frames: mpsc::Receiver<ScreencastFrame>,
}

impl Screencast<'_> {
    /// Waits for the next image. `None` when the page has closed.
    pub async fn next(&mut self) -> Option<ScreencastFrame> {
        self.frames.recv().await
    }

    /// Returns an image that has already arrived.
    pub fn arrived(&mut self) -> Option<ScreencastFrame> {
        self.frames.try_recv().ok()
    }

    /// Acknowledges the image `number`, so that the browser sends another one.
    pub fn acknowledge(&self, number: i64) {
        self.page.engine.acknowledge_frame(number);
    }
}

impl Drop for Screencast<'_> {
    fn drop(&mut self) {
        self.page.engine.stop_screencast();
    }
}

impl Page {
    /// Starts to receive images whenever the page is painted, at most `size` large. `None` if the
    /// browser cannot do that.
    pub async fn screencast(
        &self,
        size: Viewport,
        quality: u8,
    ) -> EngineResult<Option<Screencast<'_>>> {
        let (sender, frames) = mpsc::channel(UNACKNOWLEDGED);
        // Created first, so that a screencast is stopped also if the start is canceled.
        let screencast = Screencast { page: self, frames };
        match self.engine.start_screencast(size, quality, sender).await {
            Ok(()) => Ok(Some(screencast)),
            Err(EngineError::Unsupported { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes one image of the viewport, for browsers without a screencast.
    pub async fn live_image(&self, quality: u8) -> EngineResult<ScreencastFrame> {
        let options = ScreenshotOptions {
            format: ImageFormat::Jpeg,
            quality: Some(quality),
            full_page: false,
            clip: None,
        };
        let taken = async {
            let size = self.engine.evaluate(self.main_frame(), World::Isolated, VIEWPORT).await?;
            EngineResult::Ok((size, self.engine.screenshot(options).await?))
        };
        let taken = tokio::time::timeout(IMAGE_TIMEOUT, taken).await;
        let (size, data) = taken.map_err(|_| EngineError::TimedOut(IMAGE_TIMEOUT))??;
        let jpeg =
            STANDARD.decode(data).map_err(|error| EngineError::Refused(error.to_string()))?;
        let length = |at: usize| size[at].as_f64().unwrap_or_default();
        Ok(ScreencastFrame { number: 0, jpeg, width: length(0), height: length(1) })
    }
}
