//! Tools that read a page: as text (`text`), as data (`data`), as pictures and files (`pictures`,
//! `pdf`).

mod data;
mod pdf;
mod pictures;
mod text;

use std::sync::Arc;

use futures_util::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use crate::files::run_blocking;
pub(super) use pictures::check_picture_size;

use super::{
    answer::{LargeAnswer, TextAnswer},
    tool::{Group, PageCall, Switch, Tool, tool},
};
use crate::{
    config::option_of_flag,
    error::{ErrorCode, Result, TroupeError},
    offload::json_size,
    page::{Page, SnapshotOptions},
    session::Session,
};

pub(super) const SCRIPTS: Switch = Switch {
    option: "enable-script-evaluation",
    is_on: |security| security.enable_script_evaluation != Some(false),
    is_on_for_commands: false,
    suggestion: "read the page with `snapshot`, or start the server with --enable-script-evaluation true",
};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, description| tool(name, Group::Extraction, description);
    vec![
        tool("snapshot", "Get the page as text: roles, names, states, and a ref (e12) for each element to act on.").command("snapshot", &["selector"], "troupe snapshot --interactive")
            .read_only()
            .snapshot()
            .page(snapshot),
        tool("find", "Find lines of the whole page, with refs, if a snapshot is long or shortened.").command("find", &["text"], "troupe find 'order total'")
            .read_only()
            .page(text::find),
        tool("read_page", "Read the main content as Markdown: articles, documentation.").command("read", &[], "troupe read").read_only().page(text::read_page),
        tool("get_text", "Read the visible text of the page or an element.").command("text", &["selector"], "troupe text '#total'").read_only().page(text::get_text),
        tool("get_all_text", "Read the text of all matches.").read_only().page(text::get_all_text),
        tool("get_attribute", "Read an attribute, such as href.").read_only().page(text::get_attribute),
        tool("get_value", "Read a field's value and checked state.").command("value", &["selector"], "troupe value 'label=Email'").read_only().page(text::get_value),
        tool("screenshot", "Take a screenshot of the page. To act on a page, use snapshot.").command("screenshot", &["path"], "troupe screenshot page.png").files(&["path"]).read_only().page(pictures::screenshot),
        tool("screenshot_element", "Take a screenshot of an element.").read_only().page(pictures::screenshot_element),
        tool("compare_screenshots", "Compare with an earlier screenshot: percentage, and an image with the changes boxed.")
            .read_only()
            .page(pictures::compare_screenshots),
        tool("extract_table", "Read a table as headers and rows.").command("table", &["selector"], "troupe table table").read_only().page(data::extract_table),
        tool("extract_links", "List links with text, URL and ref.").command("links", &["selector"], "troupe links").read_only().page(data::extract_links),
        tool("get_page_metadata", "Read title, description, meta tags, JSON-LD and headings.").read_only().page(data::get_page_metadata),
        tool("evaluate", "Run JavaScript: an expression that can use args, or a function called with them. Promises are awaited.").command("eval", &["script"], "troupe eval 'document.title'")
            .destructive()
            .switched_by(SCRIPTS)
            .page(evaluate),
        tool("save_pdf", "Save the page as a PDF file.").command("pdf", &["path"], "troupe pdf page.pdf").files(&["path"]).harmless().page(pdf::save_pdf),
    ]
}

/// The default size of a snapshot as a multiple of the result budget: `get_content` reads the rest.
const CONTENT_FACTOR: usize = 40;

#[derive(Deserialize, JsonSchema)]
struct SnapshotParameters {
    /// Only this element
    selector: Option<String>,
    /// Interactive elements only
    interactive: Option<bool>,
    depth: Option<u32>,
    /// Characters
    budget: Option<usize>,
}

async fn snapshot(call: PageCall, given: SnapshotParameters) -> Result<TextAnswer> {
    let options = SnapshotOptions {
        selector: given.selector,
        interactive: given.interactive.unwrap_or(false),
        depth: given.depth,
        overview: false,
        budget: Some(
            given
                .budget
                .unwrap_or_else(|| call.config.result_budget.saturating_mul(CONTENT_FACTOR)),
        ),
    };
    // Concurrently, so that an unresponsive page costs only one time limit.
    let (title, text) = tokio::join!(call.page.title(), call.page.snapshot(&options));
    let (title, text) = (title.unwrap_or_default(), text?);
    let heading = format!("Page: {} ({title})", call.page.url());
    Ok(TextAnswer(format!("{heading}\n{text}")))
}

#[derive(Deserialize, JsonSchema)]
struct EvaluateParameters {
    script: String,
    args: Option<Vec<Value>>,
}

#[derive(Serialize, JsonSchema)]
struct EvaluateAnswer {
    success: bool,
    value: Value,
}

async fn evaluate(
    call: PageCall,
    given: EvaluateParameters,
) -> Result<LargeAnswer<EvaluateAnswer>> {
    if call.config.security.enable_script_evaluation.is_none()
        && let Some(page_id) = page_with_secret(&call.session, &call.page).await
    {
        return Err(secret_error(&page_id));
    }
    let value = call.page.evaluate(&given.script, &given.args.unwrap_or_default()).await?;
    Ok(LargeAnswer { bytes: json_size(&value), answer: EvaluateAnswer { success: true, value } })
}

/// Returns the id of a page of `session` that holds a typed secret: `page`, or another one. A
/// script in one page can read another page of the same origin, for example through `opener`.
pub(super) async fn page_with_secret(session: &Session, page: &Arc<Page>) -> Option<String> {
    let vault = session.secrets.vault();
    if vault.is_empty() {
        return None;
    }
    let mut pages = session.open_pages();
    pages.retain(|other| other.id != page.id);
    pages.insert(0, page.clone());
    let holding = pages.into_iter().map(|page| async move {
        if page.holds_secret(vault).await { Some(page.id.clone()) } else { None }
    });
    join_all(holding).await.into_iter().flatten().next()
}

/// Returns the error of a script in a session whose page `page_id` holds a secret: it could return
/// the secret in a form that is not masked.
pub(super) fn secret_error(page_id: &str) -> TroupeError {
    let rule = option_of_flag(SCRIPTS.option).map(|(option, _)| option.key());
    let message = format!(
        "`evaluate` is disabled while page `{page_id}` contains a secret that was typed by name"
    );
    TroupeError::new(ErrorCode::BlockedByPolicy, message).detail("rule", rule).suggestion(format!(
        "read the page with `snapshot`, or close page `{page_id}`, or navigate it to another document, or start the server with \
         --enable-script-evaluation true"
    ))
}
