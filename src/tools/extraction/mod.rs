//! Tools that read a page: as text (`text`), as data (`data`), as pictures and files (`pictures`, `pdf`).

mod data;
mod pdf;
mod pictures;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    answer::Text,
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::SnapshotOptions,
};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, description| tool(name, Group::Extraction, description);
    vec![
        tool("snapshot", "See the page as text: roles, names, states, and a ref (e12) for each element to act on.")
            .read_only()
            .page(snapshot),
        tool("find", "Find lines of the whole page, with refs, where a snapshot is long or folded.")
            .read_only()
            .page(text::find),
        tool("read_page", "Read the main content as Markdown: articles, documentation.").read_only().page(text::read_page),
        tool("get_text", "Read what the page or one element shows.").read_only().page(text::get_text),
        tool("get_all_text", "Read the text of every match.").read_only().page(text::get_all_text),
        tool("get_attribute", "Read an attribute, such as href.").read_only().page(text::get_attribute),
        tool("get_value", "Read a field's value and checked state.").read_only().page(text::get_value),
        tool("screenshot", "Take a picture of the page. To act on it, use snapshot.").read_only().page(pictures::screenshot),
        tool("screenshot_element", "Take a picture of one element.").read_only().page(pictures::screenshot_element),
        tool("compare_screenshots", "Compare with an earlier picture: percentage, and a picture with the changes boxed.")
            .read_only()
            .page(pictures::compare_screenshots),
        tool("extract_table", "Read a table as headers and rows.").read_only().page(data::extract_table),
        tool("extract_links", "List links with text, URL and ref.").read_only().page(data::extract_links),
        tool("get_page_metadata", "Read title, description, meta tags, JSON-LD and headings.").read_only().page(data::get_page_metadata),
        tool("evaluate", "Run JavaScript in the page: an expression, or a function called with args. Promises are awaited.")
            .destructive()
            .page(evaluate),
        tool("save_pdf", "Save the page as a PDF file.").page(pdf::save_pdf),
    ]
}

/// So many times the result budget is made of a snapshot where nothing else is asked for: `get_content` reads on in it.
const READ_ON: usize = 40;

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
        budget: Some(given.budget.unwrap_or_else(|| call.config.result_budget.saturating_mul(READ_ON))),
    };
    // At once: where the page takes no turn neither is answered, and one time limit is enough.
    let (title, text) = tokio::join!(call.page.title(), call.page.snapshot(&options));
    let (title, text) = (title.unwrap_or_default(), text?);
    let heading = format!("Page: {} ({title})", call.page.url());
    Ok(Text(format!("{heading}\n{text}")))
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

/// Does what takes its time on a thread that nobody waits for.
pub(super) async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        TroupeError::new(ErrorCode::InternalError, format!("the work was not done: {error}"))
    })?
}
