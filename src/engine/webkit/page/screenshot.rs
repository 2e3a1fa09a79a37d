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
    pub(super) async fn picture(&self, shot: ScreenshotOptions) -> EngineResult<String> {
        let shared = self.shared()?;
        let mut commands = shared.commands_without_dialog().await;
        into_engine_result(self.select_main_frame(&mut commands).await)?;
        let measured = into_engine_result(commands.script(MEASURE.to_owned()).await)?;
        let [left, top, width, height] =
            [0, 1, 2, 3].map(|at| measured[at].as_f64().unwrap_or_default());
        let (wide, high) = shared.viewport();
        let (view_width, view_height) = (wide as f64, high as f64);
        let whole = Area { x: 0.0, y: 0.0, width, height };
        let requested = shot.clip.or(shot.full_page.then_some(whole));
        let Some(area) = requested else {
            return encode(taken(&mut commands).await?, &shot);
        };
        let in_view = area.x >= left
            && area.y >= top
            && area.x + area.width <= left + view_width
            && area.y + area.height <= top + view_height;
        if in_view {
            return encode(cut(taken(&mut commands).await?, area, (left, top)), &shot);
        }
        let size = (
            width.max(view_width).min(MAX_SIZE) as i64,
            height.max(view_height).min(MAX_SIZE) as i64,
        );
        shared.resize(&mut commands, size).await?;
        let picture = async {
            // Scrolls to the area if the document is larger than the window.
            let scroll = format!("scrollTo({}, {}); return [scrollX, scrollY];", area.x, area.y);
            let at = into_engine_result(commands.script(scroll).await)?;
            let corner = (at[0].as_f64().unwrap_or_default(), at[1].as_f64().unwrap_or_default());
            Ok::<_, EngineError>(cut(taken(&mut commands).await?, area, corner))
        };
        let picture = picture.await;
        shared.resize(&mut commands, shared.viewport()).await?;
        into_engine_result(commands.script(format!("scrollTo({left}, {top});")).await)?;
        encode(picture?, &shot)
    }
}

async fn taken(commands: &mut CommandGuard<'_>) -> EngineResult<DynamicImage> {
    let taken = into_engine_result(commands.send(Command::TakeScreenshot).await)?;
    let data = taken.as_str().unwrap_or_default();
    let unreadable =
        |error: String| EngineError::Refused(format!("cannot decode the screenshot: {error}"));
    offload::in_place(data.len(), || {
        let bytes = STANDARD.decode(data).map_err(|error| unreadable(error.to_string()))?;
        image::load_from_memory_with_format(&bytes, Format::Png)
            .map_err(|error| unreadable(error.to_string()))
    })
}

/// Cuts `area` of the document out of a picture whose upper left corner is at `corner` of the
/// document.
fn cut(picture: DynamicImage, area: Area, corner: (f64, f64)) -> DynamicImage {
    let pixels = |length: f64| length.max(0.0).round() as u32;
    let (x, y) = (pixels(area.x - corner.0), pixels(area.y - corner.1));
    picture.crop_imm(x, y, pixels(area.width).max(1), pixels(area.height).max(1))
}

fn encode(picture: DynamicImage, shot: &ScreenshotOptions) -> EngineResult<String> {
    offload::in_place(picture.as_bytes().len(), || encode_here(picture, shot))
}

fn encode_here(picture: DynamicImage, shot: &ScreenshotOptions) -> EngineResult<String> {
    let mut bytes = Cursor::new(Vec::new());
    let written = match shot.format {
        ImageFormat::Png => picture.write_to(&mut bytes, Format::Png),
        ImageFormat::Jpeg => {
            let quality = shot.quality.unwrap_or(JPEG_QUALITY);
            picture.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))
        }
    };
    written
        .map_err(|error| EngineError::Refused(format!("cannot encode the screenshot: {error}")))?;
    Ok(STANDARD.encode(bytes.into_inner()))
}
