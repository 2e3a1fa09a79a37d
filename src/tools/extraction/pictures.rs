//! Pictures of a page: whole, of an element, with refs on it, compared with an earlier one.

use std::{path::PathBuf, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use image::RgbaImage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aside;
use crate::{
    config::Config,
    engine::{ImageFormat, Shot},
    error::{ErrorCode, Result, TroupeError},
    page::pictures::{Region, annotate, compare, decode, dimensions, encode, mark},
    policy::files,
    session::Screenshot,
    tools::{
        answer::{Picture, Pictured},
        tool::PageCall,
    },
};

/// A file that is larger is no picture of a page.
const LARGEST_BASELINE: u64 = 100 * 1024 * 1024;

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

fn mime_type(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "image/png",
        ImageFormat::Jpeg => "image/jpeg",
    }
}

const VIEWPORT: Shot = Shot { format: ImageFormat::Png, quality: None, full_page: false, clip: None };

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScreenshotParameters {
    full_page: Option<bool>,
    r#type: Option<PictureType>,
    /// jpeg only
    #[schemars(range(min = 0, max = 100))]
    quality: Option<u8>,
    /// Draw the refs of what can be acted on
    annotate: Option<bool>,
}

pub(super) async fn screenshot(call: PageCall, given: ScreenshotParameters) -> Result<Picture> {
    let format = given.r#type.map_or(ImageFormat::Png, PictureType::format);
    if format == ImageFormat::Png && given.quality.is_some() {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`quality` goes with `type: \"jpeg\"` only",
        ));
    }
    let full_page = given.full_page.unwrap_or(false);
    let shot = Shot { format, quality: given.quality, full_page, clip: None };
    if given.annotate != Some(true) {
        let data = call.page.screenshot(shot).await?;
        return kept(&call, data, format, full_page);
    }
    let annotations = call.page.annotations(full_page).await?;
    let data = call.page.screenshot(Shot { format: ImageFormat::Png, quality: None, ..shot }).await?;
    let drawn = aside(move || {
        let mut picture = pixels(&data)?;
        annotate(&mut picture, &annotations);
        encoded(&picture, format, given.quality)
    })
    .await?;
    kept(&call, drawn, format, full_page)
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ElementParameters {
    selector: String,
    r#type: Option<PictureType>,
}

pub(super) async fn screenshot_element(call: PageCall, given: ElementParameters) -> Result<Picture> {
    let format = given.r#type.map_or(ImageFormat::Png, PictureType::format);
    let timeout = call.config.timeout_action;
    let data = call.page.screenshot_of(&given.selector, Shot { format, ..VIEWPORT }, timeout).await?;
    kept(&call, data, format, false)
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareParameters {
    /// Path or base64 of a PNG or JPEG
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
    /// Of all pixels, how many have changed.
    percentage: f64,
    changed_pixels: u64,
    total_pixels: u64,
    /// Changed parts in pixels of the picture, the largest first.
    regions: Vec<Region>,
    baseline: Size,
    current: Size,
}

pub(super) async fn compare_screenshots(
    call: PageCall,
    given: CompareParameters,
) -> Result<Pictured<Comparison>> {
    let config = call.config.clone();
    let baseline = aside(move || baseline(&config, &given.baseline)).await?;
    let (page, timeout) = (&call.page, call.config.timeout_action);
    let data = match &given.selector {
        Some(selector) => page.screenshot_of(selector, VIEWPORT, timeout).await?,
        None => page.screenshot(VIEWPORT).await?,
    };
    let mut current = aside(move || pixels(&data)).await?;
    // A baseline that is larger than the viewport shows the full page.
    if given.selector.is_none() && baseline.dimensions() != current.dimensions() {
        let data = page.screenshot(Shot { full_page: true, ..VIEWPORT }).await?;
        let whole = aside(move || pixels(&data)).await?;
        if whole.dimensions() == baseline.dimensions() {
            current = whole;
        }
    }
    let (facts, data) = aside(move || {
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
    Ok(Pictured { facts, picture: checked(&call.config, data, ImageFormat::Png)? })
}

/// The picture that a client gives: a file in reach, base64, or a data URL.
fn baseline(config: &Arc<Config>, given: &str) -> Result<RgbaImage> {
    let bytes = match written_out(given) {
        Some(data) => STANDARD.decode(data.trim()).map_err(|error| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("the baseline is no base64: {error}"))
        })?,
        None => {
            let path: PathBuf = files::resolve_input(config, given)?;
            let unreadable = |error: std::io::Error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`{}` cannot be read: {error}", path.display()),
                )
            };
            if std::fs::metadata(&path).map_err(unreadable)?.len() > LARGEST_BASELINE {
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`{}` is too large for a picture of a page", path.display()),
                ));
            }
            std::fs::read(&path).map_err(unreadable)?
        }
    };
    decode(&bytes).map_err(|error| {
        TroupeError::new(ErrorCode::InvalidParameters, format!("the baseline is no PNG or JPEG: {error}"))
            .suggestion("give the path or the base64 of a picture that screenshot has taken")
    })
}

/// The base64 in a baseline, where it is no path: what PNGs and JPEGs begin with is no usual name of a file.
fn written_out(given: &str) -> Option<&str> {
    if let Some(url) = given.strip_prefix("data:") {
        return Some(url.split_once("base64,").map_or(url, |(_, data)| data));
    }
    (given.starts_with("iVBORw0KGgo") || (given.starts_with("/9j/") && given.len() > 200)).then_some(given)
}

fn pixels(data: &str) -> Result<RgbaImage> {
    let unreadable =
        |error: String| TroupeError::new(ErrorCode::InternalError, format!("the browser's picture: {error}"));
    decode(&STANDARD.decode(data).map_err(|error| unreadable(error.to_string()))?)
        .map_err(|error| unreadable(error.to_string()))
}

fn encoded(picture: &RgbaImage, format: ImageFormat, quality: Option<u8>) -> Result<String> {
    let bytes = encode(picture, format, quality)
        .map_err(|error| TroupeError::new(ErrorCode::InternalError, format!("the picture: {error}")))?;
    Ok(STANDARD.encode(bytes))
}

/// The picture, if it is not larger than the configuration allows.
/// As `checked`; the session keeps the picture, so that it can be looked at again.
fn kept(call: &PageCall, data: String, format: ImageFormat, full_page: bool) -> Result<Picture> {
    let picture = checked(&call.config, data, format)?;
    let size = STANDARD.decode(&picture.data).ok().and_then(|bytes| dimensions(&bytes).ok());
    if let Some((width, height)) = size {
        call.session.keep_screenshot(Screenshot {
            page_id: call.page.id.clone(),
            captured_at: 0,
            mime_type: picture.mime_type,
            data: picture.data.clone(),
            width,
            height,
            full_page,
        });
    }
    Ok(picture)
}

fn checked(config: &Config, data: String, format: ImageFormat) -> Result<Picture> {
    let bytes = data.len() as u64 / 4 * 3;
    let limit = config.security.max_screenshot_size;
    if bytes > limit {
        return Err(TroupeError::new(
            ErrorCode::ResourceExhausted,
            format!("the picture has {bytes} bytes; the limit is {limit}"),
        )
        .retryable(false)
        .suggestion(
            "take the viewport only, use type jpeg with a lower quality, or raise --max-screenshot-size",
        ));
    }
    Ok(Picture { data, mime_type: mime_type(format) })
}
