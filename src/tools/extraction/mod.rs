//! Tools that read a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    answer::{Image, Text},
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    engine::{ImageFormat, Shot},
    error::{ErrorCode, Result, TroupeError},
    page::SnapshotOptions,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("snapshot", Group::Extraction, "See the page as text: roles, names, states, and a ref (e12) for each element to act on.")
            .read_only()
            .page(snapshot),
        tool("screenshot", Group::Extraction, "Take a picture of the page. To act on it, use snapshot.").read_only().page(screenshot),
        tool("evaluate", Group::Extraction, "Run JavaScript in the page: an expression, or a function that is called with args. Promises are awaited.")
            .destructive()
            .page(evaluate),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct SnapshotParameters {
    /// Only this element
    selector: Option<String>,
    /// Only what can be acted on
    interactive: Option<bool>,
    depth: Option<u32>,
    /// Characters
    budget: Option<usize>,
}

async fn snapshot(call: PageCall, given: SnapshotParameters) -> Result<Text> {
    let options = SnapshotOptions {
        selector: given.selector,
        interactive: given.interactive.unwrap_or(false),
        depth: given.depth,
        budget: given.budget,
    };
    let text = call.page.snapshot(&options).await?;
    let title = call.page.title().await.unwrap_or_default();
    Ok(Text(format!("Page: {} ({title})\n{text}", call.page.url())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum PictureType {
    Png,
    Jpeg,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ScreenshotParameters {
    full_page: Option<bool>,
    r#type: Option<PictureType>,
    /// jpeg only
    #[schemars(range(min = 0, max = 100))]
    quality: Option<u8>,
}

async fn screenshot(call: PageCall, given: ScreenshotParameters) -> Result<Image> {
    let (format, mime_type) = match given.r#type.unwrap_or(PictureType::Png) {
        PictureType::Png => (ImageFormat::Png, "image/png"),
        PictureType::Jpeg => (ImageFormat::Jpeg, "image/jpeg"),
    };
    if format == ImageFormat::Png && given.quality.is_some() {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`quality` goes with `type: \"jpeg\"` only",
        ));
    }
    let shot = Shot { format, quality: given.quality, full_page: given.full_page.unwrap_or(false) };
    let data = call.page.screenshot(shot).await?;
    let bytes = data.len() as u64 / 4 * 3;
    let limit = call.config.security.max_screenshot_size;
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
    Ok(Image { data, mime_type })
}

#[derive(Deserialize, JsonSchema)]
struct EvaluateParameters {
    script: String,
    args: Option<Vec<Value>>,
}

#[derive(Serialize, JsonSchema)]
struct Evaluated {
    success: bool,
    value: Value,
}

async fn evaluate(call: PageCall, given: EvaluateParameters) -> Result<Evaluated> {
    if !call.config.security.enable_script_evaluation {
        return Err(TroupeError::new(ErrorCode::BlockedByPolicy, "scripts are switched off on this server")
            .detail("rule", "enableScriptEvaluation")
            .suggestion(
                "read the page with snapshot, or start the server with --enable-script-evaluation true",
            ));
    }
    let value = call.page.evaluate(&given.script, &given.args.unwrap_or_default()).await?;
    Ok(Evaluated { success: true, value })
}
