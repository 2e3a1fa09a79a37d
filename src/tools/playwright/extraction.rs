//! Snapshots, screenshots and PDF files.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    call::{PlaywrightCall, error},
    code,
    output::{self, FileName},
    response::Response,
};
use crate::{
    engine::{ImageFormat, ScreenshotOptions},
    error::{ErrorCode, Result, TroupeError},
    page::{AriaSnapshotOptions, pictures},
    tools::{
        answer::EncodedPicture,
        extraction::{check_picture_size, run_blocking},
    },
};

#[derive(Deserialize)]
pub(super) struct SnapshotArguments {
    target: Option<String>,
    filename: Option<String>,
    depth: Option<f64>,
    boxes: Option<bool>,
}

pub(super) async fn snapshot(call: PlaywrightCall, given: SnapshotArguments) -> Result<Response> {
    let mut options = AriaSnapshotOptions {
        boxes: given.boxes.unwrap_or(call.config.snapshot_boxes),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        depth: given.depth.map(|depth| depth.clamp(0.0, 1e6) as u32),
        root: None,
    };
    if let Some(target) = given.target.filter(|target| !target.is_empty()) {
        let page = call.page().await?;
        let found = call.strict_target(&page, &target).await.map_err(without_log)?;
        options.root = Some(found.reference);
    }
    let mut response = Response::default();
    response.show_snapshot(options, given.filename.filter(|name| !name.is_empty()));
    Ok(response)
}

/// Returns an error without its call log, which Playwright does not write for snapshots.
fn without_log(error: TroupeError) -> TroupeError {
    let message = error.message.split("\nCall log:\n").next().unwrap_or_default().to_owned();
    TroupeError { message, ..error }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ImageType {
    Png,
    Jpeg,
    Webp,
}

impl ImageType {
    fn of_file(name: &str) -> Option<Self> {
        match Path::new(name).extension()?.to_string_lossy().to_lowercase().as_str() {
            "png" => Some(Self::Png),
            "jpg" | "jpeg" => Some(Self::Jpeg),
            "webp" => Some(Self::Webp),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }

    fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScreenshotArguments {
    element: Option<String>,
    target: Option<String>,
    r#type: Option<ImageType>,
    filename: Option<String>,
    full_page: Option<bool>,
    scale: String,
}

/// The quality of JPEG screenshots, as in @playwright/mcp.
const JPEG_QUALITY: u8 = 90;

pub(super) async fn screenshot(
    call: PlaywrightCall,
    given: ScreenshotArguments,
) -> Result<Response> {
    let target = given.target.filter(|target| !target.is_empty());
    let full_page = given.full_page.unwrap_or(false);
    if full_page && target.is_some() {
        return Err(error("fullPage cannot be used with element screenshots."));
    }
    let filename = given.filename.filter(|name| !name.is_empty());
    let kind = given
        .r#type
        .or_else(|| filename.as_deref().and_then(ImageType::of_file))
        .unwrap_or(ImageType::Png);
    let label = match (&target, full_page) {
        (Some(_), _) => given.element.unwrap_or_else(|| "element".to_owned()),
        (None, true) => "full page".to_owned(),
        (None, false) => "viewport".to_owned(),
    };
    let page = call.page().await?;
    let format = if kind == ImageType::Jpeg { ImageFormat::Jpeg } else { ImageFormat::Png };
    let quality = (kind == ImageType::Jpeg).then_some(JPEG_QUALITY);
    let shot = ScreenshotOptions { format, quality, full_page, clip: None };
    let target = match target {
        Some(target) => Some(call.strict_target(&page, &target).await?),
        None => None,
    };
    let data = match &target {
        Some(target) => {
            page.screenshot_of(&target.reference, shot, call.config.timeout_action).await?
        }
        None => page.screenshot(shot).await?,
    };
    check_picture_size(&call.config, &data)?;
    let bytes = decoded(data).await?;
    let scale = call.config.context.device_scale_factor.filter(|_| given.scale == "css");
    let bytes = match scale.filter(|scale| *scale != 1.0) {
        Some(scale) => {
            converted(bytes, move |bytes| pictures::scaled(bytes, 1.0 / scale, format, quality))
                .await?
        }
        None => bytes,
    };
    let bytes = match kind {
        ImageType::Webp => converted(bytes, pictures::webp).await?,
        ImageType::Png | ImageType::Jpeg => bytes,
    };
    let prefix = if target.is_some() { "element" } else { "page" };
    let is_named = filename.is_some();
    let name = FileName::new(filename, prefix, kind.name());
    let file = output::write(&call, name, bytes.clone()).await?;
    let mut options = Map::new();
    options.insert("type".into(), kind.name().into());
    options.extend(quality.map(|quality| ("quality".to_owned(), Value::from(quality))));
    options.insert("scale".into(), given.scale.into());
    options
        .extend(given.full_page.map(|full_page| ("fullPage".to_owned(), Value::from(full_page))));
    options.insert("path".into(), file.name.clone().into());
    let mut response = Response::default();
    response.add_code(format!("// Screenshot {label} and save it as {}", file.name));
    let subject = target.map(|target| format!(".{}", target.locator)).unwrap_or_default();
    let options = code::object(&Value::Object(options));
    response.add_code(format!("await page{subject}.screenshot({options});"));
    response.add_text(file.link(&format!("Screenshot of {label}")));
    if !is_named {
        let data = crate::offload::in_place(bytes.len(), || STANDARD.encode(&bytes));
        response.add_picture(EncodedPicture {
            data,
            mime_type: kind.mime_type().into(),
            path: None,
        });
    }
    Ok(response)
}

async fn decoded(data: String) -> Result<Vec<u8>> {
    run_blocking(move || {
        STANDARD.decode(data).map_err(|problem| {
            TroupeError::new(
                ErrorCode::InternalError,
                format!("the browser's file is not base64: {problem}"),
            )
        })
    })
    .await
}

/// Converts a screenshot on a thread of the blocking pool.
async fn converted(
    screenshot: Vec<u8>,
    convert: impl FnOnce(&[u8]) -> std::result::Result<Vec<u8>, image::ImageError> + Send + 'static,
) -> Result<Vec<u8>> {
    run_blocking(move || {
        convert(&screenshot).map_err(|problem| {
            TroupeError::new(ErrorCode::InternalError, format!("the screenshot: {problem}"))
        })
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct Pdf {
    filename: Option<String>,
}

pub(super) async fn save_pdf(call: PlaywrightCall, given: Pdf) -> Result<Response> {
    let page = call.page().await?;
    let bytes = decoded(page.pdf().await?).await?;
    let file = output::write(&call, FileName::new(given.filename, "page", "pdf"), bytes).await?;
    let options = code::object(&serde_json::json!({"path": file.name}));
    Ok(Response::text(file.link("Page as pdf")).with_code(format!("await page.pdf({options});")))
}
