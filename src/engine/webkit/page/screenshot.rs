//! Screenshots. WebDriver captures the viewport as PNG. For a larger area the window is temporarily
//! enlarged, and for a smaller one the picture is cropped.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat as Format, codecs::jpeg::JpegEncoder};
use thirtyfour::common::command::Command;

use super::WebkitPage;
use crate::{
    engine::{
        Area, EngineError, EngineResult, ImageFormat, ScreenshotOptions,
        webkit::driver::{CommandGuard, into_engine_result},
    },
    offload,
};

/// The maximum size of a window.
const MAX_SIZE: f64 = 4000.0;
const JPEG_QUALITY: u8 = 80;
/// Reads the scroll position and the size of the document.
const MEASURE: &str = "const root = document.scrollingElement ?? document.documentElement; \
                       return [scrollX, scrollY, Math.max(root.scrollWidth, innerWidth), Math.max(root.scrollHeight, innerHeight)];";

impl WebkitPage {
    pub(super) async fn screenshot_image(&self, shot: ScreenshotOptions) -> EngineResult<String> {
        let windows = self.windows()?;
        let mut commands = windows.commands_without_dialog().await;
        into_engine_result(self.select_main_frame(&mut commands).await)?;
        let measured = into_engine_result(commands.script(MEASURE.to_owned()).await)?;
        let [left, top, width, height] = [0, 1, 2, 3]
            .map(|scroll_position| measured[scroll_position].as_f64().unwrap_or_default());
        let (wide, high) = windows.viewport();
        let (view_width, view_height) = (wide as f64, high as f64);
        let whole = Area { x: 0.0, y: 0.0, width, height };
        let requested = shot.clip.or(shot.full_page.then_some(whole));
        let Some(area) = requested else {
            return encode(capture_viewport(&mut commands).await?, &shot);
        };
        let in_view = area.x >= left
            && area.y >= top
            && area.x + area.width <= left + view_width
            && area.y + area.height <= top + view_height;
        if in_view {
            return encode(crop(capture_viewport(&mut commands).await?, area, (left, top)), &shot);
        }
        let size = (
            width.max(view_width).min(MAX_SIZE) as i64,
            height.max(view_height).min(MAX_SIZE) as i64,
        );
        windows.resize(&mut commands, size).await?;
        let screenshot_image = async {
            // Scrolls to the area if the document is larger than the window.
            let scroll = format!("scrollTo({}, {}); return [scrollX, scrollY];", area.x, area.y);
            let scroll_position = into_engine_result(commands.script(scroll).await)?;
            let corner = (
                scroll_position[0].as_f64().unwrap_or_default(),
                scroll_position[1].as_f64().unwrap_or_default(),
            );
            Ok::<_, EngineError>(crop(capture_viewport(&mut commands).await?, area, corner))
        };
        let screenshot_image = screenshot_image.await;
        windows.resize(&mut commands, windows.viewport()).await?;
        into_engine_result(commands.script(format!("scrollTo({left}, {top});")).await)?;
        encode(screenshot_image?, &shot)
    }
}

async fn capture_viewport(commands: &mut CommandGuard<'_>) -> EngineResult<DynamicImage> {
    let capture_viewport = into_engine_result(commands.send(Command::TakeScreenshot).await)?;
    let data = capture_viewport.as_str().unwrap_or_default();
    let decode_error =
        |error: String| EngineError::Refused(format!("cannot decode the screenshot: {error}"));
    offload::in_place(data.len(), || {
        let bytes = STANDARD.decode(data).map_err(|error| decode_error(error.to_string()))?;
        image::load_from_memory_with_format(&bytes, Format::Png)
            .map_err(|error| decode_error(error.to_string()))
    })
}

/// Cuts `area` of the document out of a picture whose upper left corner is at `corner` of the
/// document.
fn crop(screenshot_image: DynamicImage, area: Area, corner: (f64, f64)) -> DynamicImage {
    let pixels = |length: f64| length.max(0.0).round() as u32;
    let (x, y) = (pixels(area.x - corner.0), pixels(area.y - corner.1));
    screenshot_image.crop_imm(x, y, pixels(area.width).max(1), pixels(area.height).max(1))
}

fn encode(screenshot_image: DynamicImage, shot: &ScreenshotOptions) -> EngineResult<String> {
    offload::in_place(screenshot_image.as_bytes().len(), || encode_blocking(screenshot_image, shot))
}

fn encode_blocking(
    screenshot_image: DynamicImage,
    shot: &ScreenshotOptions,
) -> EngineResult<String> {
    let mut bytes = Cursor::new(Vec::new());
    let written = match shot.format {
        ImageFormat::Png => screenshot_image.write_to(&mut bytes, Format::Png),
        ImageFormat::Jpeg => {
            let quality = shot.quality.unwrap_or(JPEG_QUALITY);
            screenshot_image
                .to_rgb8()
                .write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))
        }
    };
    written
        .map_err(|error| EngineError::Refused(format!("cannot encode the screenshot: {error}")))?;
    Ok(STANDARD.encode(bytes.into_inner()))
}
