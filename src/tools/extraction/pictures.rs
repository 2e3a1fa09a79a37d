//! Screenshots: of a page, of an element, with refs drawn on them, compared with an earlier one.

use std::path::Path;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::RgbaImage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_blocking;
use crate::{
    config::Config,
    engine::{ImageFormat, ScreenshotOptions},
    error::{ErrorCode, Result, TroupeError},
    files::{IfExists, NameBase},
    page::pictures::{Region, annotate, compare, decode, dimensions, encode, mark},
    session::Screenshot,
    tools::{
        answer::{AnswerWithPicture, EncodedPicture},
        screenshots::EarlierScreenshot,
        tool::PageCall,
    },
};

/// Maximum size of a baseline file in bytes.
const MAX_BASELINE_SIZE: u64 = 100 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PictureType {
    Png,
    Jpeg,
}

impl PictureType {
    fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
        }
    }
}

/// File extensions, and the type of picture of each.
const EXTENSIONS: &[(&str, PictureType)] =
    &[("png", PictureType::Png), ("jpg", PictureType::Jpeg), ("jpeg", PictureType::Jpeg)];

/// Returns the type of a picture, and the path of its file with an extension. As in Playwright, the
/// extension of `path` decides if no type is given.
fn type_and_path(
    given: Option<PictureType>,
    path: Option<String>,
) -> Result<(PictureType, Option<String>)> {
    let Some(path) = path else { return Ok((given.unwrap_or(PictureType::Png), None)) };
    let Some(extension) =
        Path::new(&path).extension().map(|extension| extension.to_string_lossy().to_lowercase())
    else {
        let kind = given.unwrap_or(PictureType::Png);
        let extension = if kind == PictureType::Png { "png" } else { "jpg" };
        return Ok((kind, Some(format!("{path}.{extension}"))));
    };
    let by_extension =
        EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, kind)| *kind);
    match by_extension.filter(|kind| given.is_none_or(|given| given == *kind)) {
        Some(kind) => Ok((kind, Some(path))),
        None => {
            let problem = match (by_extension, given) {
                (Some(_), Some(_)) => {
                    format!("`path` ends in .{extension}, but `type` is another format")
                }
                _ => format!("`path` must end in .png, .jpg or .jpeg, not .{extension}"),
            };
            Err(TroupeError::new(ErrorCode::InvalidParameters, problem)
                .detail("path", path)
                .suggestion("pass a `path` such as page.png, or one that fits {type}"))
        }
    }
}

fn mime_type(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "image/png",
        ImageFormat::Jpeg => "image/jpeg",
    }
}

const VIEWPORT: ScreenshotOptions =
    ScreenshotOptions { format: ImageFormat::Png, quality: None, full_page: false, clip: None };

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScreenshotParameters {
    full_page: Option<bool>,
    r#type: Option<PictureType>,
    /// jpeg only
    #[schemars(range(min = 0, max = 100))]
    quality: Option<u8>,
    /// Draw refs
    annotate: Option<bool>,
    /// New PNG or JPEG file
    path: Option<String>,
}

pub(super) async fn screenshot(
    call: PageCall,
    given: ScreenshotParameters,
) -> Result<EncodedPicture> {
    let (kind, path) = type_and_path(given.r#type, given.path)?;
    let format = kind.format();
    if format == ImageFormat::Png && given.quality.is_some() {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`quality` requires `type: \"jpeg\"`",
        )
        .suggestion("pass {type: \"jpeg\"}, or omit `quality`"));
    }
    if let Some(path) = &path {
        // Rejects a path outside of the allowed folders before the screenshot is taken.
        call.session.files().check_output(path).await?;
    }
    let full_page = given.full_page.unwrap_or(false);
    let shot = ScreenshotOptions { format, quality: given.quality, full_page, clip: None };
    if given.annotate != Some(true) {
        let data = call.page.screenshot(shot).await?;
        return keep(&call, data, format, full_page, path).await;
    }
    let annotations = call.page.annotations(full_page).await?;
    let data = call
        .page
        .screenshot(ScreenshotOptions { format: ImageFormat::Png, quality: None, ..shot })
        .await?;
    let drawn = run_blocking(move || {
        let mut picture = pixels(&data)?;
        annotate(&mut picture, &annotations);
        encoded(&picture, format, given.quality)
    })
    .await?;
    keep(&call, drawn, format, full_page, path).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ElementParameters {
    selector: String,
    r#type: Option<PictureType>,
}

pub(super) async fn screenshot_element(
    call: PageCall,
    given: ElementParameters,
) -> Result<EncodedPicture> {
    let format = given.r#type.map_or(ImageFormat::Png, PictureType::format);
    let timeout = call.action_timeout(None);
    let data = call
        .page
        .screenshot_of(&given.selector, ScreenshotOptions { format, ..VIEWPORT }, timeout)
        .await?;
    keep(&call, data, format, false, None).await
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareParameters {
    /// Path, base64, or refId or URI of a screenshot
    baseline: String,
    selector: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Size {
    width: u32,
    height: u32,
}

impl Size {
    fn of(picture: &RgbaImage) -> Self {
        Self { width: picture.width(), height: picture.height() }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Comparison {
    /// Percentage of changed pixels.
    percentage: f64,
    changed_pixels: u64,
    total_pixels: u64,
    /// Changed regions in pixels of the image, the largest first.
    regions: Vec<Region>,
    baseline: Size,
    current: Size,
}

pub(super) async fn compare_screenshots(
    call: PageCall,
    given: CompareParameters,
) -> Result<AnswerWithPicture<Comparison>> {
    let baseline = baseline(&call, given.baseline).await?;
    let (page, timeout) = (&call.page, call.action_timeout(None));
    let data = match &given.selector {
        Some(selector) => page.screenshot_of(selector, VIEWPORT, timeout).await?,
        None => page.screenshot(VIEWPORT).await?,
    };
    let mut current = run_blocking(move || pixels(&data)).await?;
    // A baseline that is larger than the viewport shows the full page.
    if given.selector.is_none() && baseline.dimensions() != current.dimensions() {
        let data = page.screenshot(ScreenshotOptions { full_page: true, ..VIEWPORT }).await?;
        let whole = run_blocking(move || pixels(&data)).await?;
        if whole.dimensions() == baseline.dimensions() {
            current = whole;
        }
    }
    let (facts, data) = run_blocking(move || {
        let difference = compare(&baseline, &current);
        mark(&mut current, &difference.regions);
        let facts = Comparison {
            percentage: difference.percentage(),
            changed_pixels: difference.changed,
            total_pixels: difference.total,
            regions: difference.regions,
            baseline: Size::of(&baseline),
            current: Size::of(&current),
        };
        Ok((facts, encoded(&current, ImageFormat::Png, None)?))
    })
    .await?;
    Ok(AnswerWithPicture { facts, picture: checked(&call.config, data, ImageFormat::Png)? })
}

/// Reads the picture that a client names: an earlier screenshot, an accessible file, base64, or a
/// data URL.
async fn baseline(call: &PageCall, given: String) -> Result<RgbaImage> {
    let earlier = match EarlierScreenshot::parse(&given)? {
        Some(earlier) => Some(earlier.find(&call.server).await?.data),
        None => None,
    };
    let file = match earlier.as_deref().or_else(|| inline_data(&given)) {
        Some(_) => None,
        None => {
            let file = call.session.files().find(NameBase::Output, &given).await?;
            Some(file.read(MAX_BASELINE_SIZE).await?)
        }
    };
    run_blocking(move || {
        let base64 = earlier.as_deref().or_else(|| inline_data(&given)).unwrap_or_default();
        let bytes = match file {
            Some(bytes) => bytes,
            None => STANDARD.decode(base64.trim()).map_err(|error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("the baseline is not base64: {error}"),
                )
            })?,
        };
        decode(&bytes).map_err(|error| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the baseline is not a PNG or JPEG image: {error}"),
            )
            .suggestion("pass the path or base64 of an image that `screenshot` took")
        })
    })
    .await
}

/// Returns the base64 data of a baseline that is a data URL, or base64 that begins like a PNG or
/// JPEG; `None` if it is a path.
fn inline_data(given: &str) -> Option<&str> {
    if let Some(url) = given.strip_prefix("data:") {
        return Some(url.split_once("base64,").map_or(url, |(_, data)| data));
    }
    (given.starts_with("iVBORw0KGgo") || (given.starts_with("/9j/") && given.len() > 200))
        .then_some(given)
}

fn pixels(data: &str) -> Result<RgbaImage> {
    let unreadable = |error: String| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("the browser's screenshot cannot be decoded: {error}"),
        )
    };
    decode(&STANDARD.decode(data).map_err(|error| unreadable(error.to_string()))?)
        .map_err(|error| unreadable(error.to_string()))
}

fn encoded(picture: &RgbaImage, format: ImageFormat, quality: Option<u8>) -> Result<String> {
    let bytes = encode(picture, format, quality).map_err(|error| {
        TroupeError::new(ErrorCode::InternalError, format!("the image cannot be encoded: {error}"))
    })?;
    Ok(STANDARD.encode(bytes))
}

/// Returns the picture and keeps it in the session, so that it can be read again. Writes it to
/// `path`, if given.
async fn keep(
    call: &PageCall,
    data: String,
    format: ImageFormat,
    full_page: bool,
    path: Option<String>,
) -> Result<EncodedPicture> {
    let picture = checked(&call.config, data, format)?;
    let (picture, bytes, size) = run_blocking(move || {
        let bytes = STANDARD.decode(&picture.data).map_err(|error| {
            TroupeError::new(
                ErrorCode::InternalError,
                format!("the browser's screenshot is not base64: {error}"),
            )
        })?;
        let size = dimensions(&bytes).ok();
        Ok((picture, bytes, size))
    })
    .await?;
    let path = match path {
        Some(path) => Some(call.session.files().create(&path, IfExists::Fail, false, bytes).await?),
        None => None,
    };
    let picture = EncodedPicture { path: path.as_ref().map(ToString::to_string), ..picture };
    if let Some((width, height)) = size {
        call.session.keep_screenshot(Screenshot {
            page_id: call.page.id.clone(),
            ref_id: call.ref_id.clone(),
            captured_at: 0,
            mime_type: mime_type(format),
            data: picture.data.clone(),
            width,
            height,
            full_page,
        });
    }
    Ok(picture)
}

/// Fails if a picture, base64, is larger than `--max-screenshot-size`.
pub(in crate::tools) fn check_picture_size(config: &Config, data: &str) -> Result<()> {
    let (bytes, limit) = (data.len() as u64 / 4 * 3, config.security.max_screenshot_size);
    if bytes > limit {
        let message = format!("the image has {bytes} bytes; the limit is {limit}");
        return Err(TroupeError::new(ErrorCode::ResourceExhausted, message).retryable(false));
    }
    Ok(())
}

/// Returns the picture. Fails if it is too large.
fn checked(config: &Config, data: String, format: ImageFormat) -> Result<EncodedPicture> {
    check_picture_size(config, &data).map_err(|error| {
        error.suggestion(
            "pass {type: \"jpeg\"} with a low `quality`, or omit `fullPage`, or raise --max-screenshot-size",
        )
    })?;
    Ok(EncodedPicture { data, mime_type: mime_type(format).into(), path: None })
}
