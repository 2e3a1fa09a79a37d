//! A result as Markdown sections, as @playwright/mcp formats it.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    call::PlaywrightCall,
    console, languages,
    output::{self, FileName},
    state::modal_states,
};
use crate::{
    config::{Codegen, ImageResponses, SnapshotMode},
    error::{Result, TroupeError},
    page::{ActionOutcome, AriaSnapshotOptions, Page},
    tools::answer::EncodedPicture,
};

/// The part of the page that a result contains.
#[derive(Default)]
enum ShownContent {
    /// The changed lines of the page's header.
    #[default]
    Nothing,
    /// The page and a file with its snapshot.
    Page { taken: Option<SnapshotOfAction> },
    /// The snapshot that the client asked for.
    Snapshot { options: AriaSnapshotOptions, file: Option<String> },
}

/// The snapshot that was taken with an action on a page.
struct SnapshotOfAction {
    page_id: String,
    text: String,
}

/// Generated code of one call.
enum GeneratedCode {
    /// Code that @playwright/mcp writes in JavaScript only.
    JavaScript(String),
    /// A statement that is translated to the language of `--codegen`.
    Action(String),
}

impl GeneratedCode {
    fn in_language(&self, language: Codegen) -> String {
        match self {
            Self::JavaScript(code) => code.clone(),
            Self::Action(code) => languages::translate(code, language),
        }
    }
}

/// The parts of a result, before it is rendered.
#[derive(Default)]
pub(in crate::tools) struct Response {
    errors: Vec<String>,
    results: Vec<String>,
    code: Vec<GeneratedCode>,
    pictures: Vec<EncodedPicture>,
    shown: ShownContent,
    /// Whether the call has closed the session, so that there is no page.
    is_closed: bool,
}

impl Response {
    pub fn error(message: impl Into<String>) -> Self {
        Self { errors: vec![message.into()], ..Self::default() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self { results: vec![text.into()], ..Self::default() }
    }

    pub fn add_error(&mut self, message: impl Into<String>) {
        self.errors.push(message.into());
    }

    pub fn add_text(&mut self, text: impl Into<String>) {
        self.results.push(text.into());
    }

    /// Adds JavaScript that does the same in a Playwright test.
    pub fn add_code(&mut self, code: impl Into<String>) {
        self.code.push(GeneratedCode::JavaScript(code.into()));
    }

    /// Adds a statement in JavaScript that is translated to the language of `--codegen`.
    pub fn add_action(&mut self, code: impl Into<String>) {
        self.code.push(GeneratedCode::Action(code.into()));
    }

    pub fn with_action(mut self, code: impl Into<String>) -> Self {
        self.add_action(code);
        self
    }

    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.add_code(code);
        self
    }

    pub fn add_picture(&mut self, picture: EncodedPicture) {
        self.pictures.push(picture);
    }

    /// Adds the page and its snapshot after the call.
    pub fn show_page(&mut self) {
        self.shown = ShownContent::Page { taken: None };
    }

    pub fn showing_page(mut self) -> Self {
        self.show_page();
        self
    }

    /// Adds the page after an action on `page`. Uses the snapshot in `done`, unless the action
    /// requested a window, which may be shown instead.
    pub fn showing_page_after(mut self, page: &Page, done: ActionOutcome) -> Self {
        let is_only_page = done.settled.windows.is_empty();
        let taken = done.aria_snapshot.filter(|_| is_only_page);
        let taken = taken.map(|text| SnapshotOfAction { page_id: page.id.clone(), text });
        self.shown = ShownContent::Page { taken };
        self
    }

    pub fn show_snapshot(&mut self, options: AriaSnapshotOptions, file: Option<String>) {
        self.shown = ShownContent::Snapshot { options, file };
    }

    /// Marks the session as closed.
    pub fn closing(mut self) -> Self {
        self.is_closed = true;
        self
    }

    /// Adds text, or writes it to the file that the client names.
    pub async fn add_result(
        &mut self,
        call: &PlaywrightCall,
        title: &str,
        text: String,
        file: Option<String>,
    ) -> Result<()> {
        match file.filter(|name| !name.is_empty()) {
            None => self.add_text(text),
            Some(name) => {
                let file = output::write_text(call, FileName::Given(name), text).await?;
                self.add_text(file.link(title));
            }
        }
        Ok(())
    }

    /// Renders the result of MCP.
    pub async fn render(self, call: &PlaywrightCall) -> Result<Value> {
        let mut sections = Sections::default();
        sections.add("Error", None, &self.errors);
        sections.add("Result", None, &self.results);
        let language = call.config.codegen;
        if language != Codegen::None {
            let block = if language == Codegen::Typescript { "js" } else { language.as_str() };
            let code: Vec<String> =
                self.code.iter().map(|code| code.in_language(language)).collect();
            sections.add("Ran Playwright code", Some(block), &code);
        }
        if !self.is_closed {
            add_page(call, &self.shown, &mut sections).await?;
        }
        if let Some(limit) = call.config.output_max_size {
            output::evict(&call.config, limit, call.begun).await;
        }
        let is_error = !self.errors.is_empty();
        Ok(content(call, &sections.text, self.pictures, is_error))
    }
}

/// Adds the sections about the page.
async fn add_page(
    call: &PlaywrightCall,
    shown: &ShownContent,
    sections: &mut Sections,
) -> Result<()> {
    let pages = call.session.open_pages();
    let current = match &call.page_id {
        Some(id) => call.session.page(Some(id)).await.ok(),
        None => call.session.current_page(),
    };
    let modal = current.as_deref().map(modal_states).unwrap_or_default();
    // Before the headers, because the snapshot waits for frames that still load.
    let snapshot = match &current {
        Some(page) => snapshot(call, page, shown, modal.is_empty()).await,
        None => Ok(None),
    };
    let file = async {
        match snapshot? {
            Some(snapshot) => snapshot.write(call).await.map(Some),
            None => Ok(None),
        }
    };
    let headers = join_all(pages.iter().map(|page| PageHeader::read(page, current.as_deref())));
    let (snapshot, headers) = tokio::join!(file, headers);
    let snapshot = match snapshot {
        // A failed snapshot must not make the action look failed: it was performed.
        Err(error) if matches!(shown, ShownContent::Page { .. }) => Some(RenderedSnapshot {
            text: format!("- The snapshot could not be taken: {}", error.message),
            is_link: true,
        }),
        other => other?,
    };
    let changed = store_headers(call, &pages, &headers);
    let shows_page = !matches!(shown_by(call, shown), ShownContent::Nothing);
    if shows_page || changed {
        if headers.len() != 1 {
            sections.add("Open tabs", None, &tab_lines(&headers));
        }
        let header = headers.iter().find(|header| header.is_current).or(headers.first());
        sections.add("Page", None, &header.map(PageHeader::lines).unwrap_or_default());
    }
    sections.add("Modal state", None, &modal);
    if let Some(RenderedSnapshot { text, is_link }) = snapshot {
        sections.add("Snapshot", (!is_link).then_some("yaml"), &[text]);
    }
    let events = match &current {
        Some(page) if modal.is_empty() => {
            console::events(call, page).await.unwrap_or_else(|error| {
                vec![format!("- The console log could not be written: {}", error.message)]
            })
        }
        _ => Vec::new(),
    };
    sections.add("Events", None, &events);
    Ok(())
}

/// Returns the part of the page that a result contains with `--snapshot-mode`.
fn shown_by<'a>(call: &PlaywrightCall, shown: &'a ShownContent) -> &'a ShownContent {
    match shown {
        ShownContent::Page { .. } if call.config.snapshot_mode == SnapshotMode::None => {
            &ShownContent::Nothing
        }
        other => other,
    }
}

/// A snapshot in a result: its text, or the link to its file.
struct RenderedSnapshot {
    text: String,
    is_link: bool,
}

/// A snapshot, and the file that it is written to.
struct TakenSnapshot {
    text: String,
    /// `None`: the result contains the text.
    file: Option<FileName>,
}

impl TakenSnapshot {
    async fn write(self, call: &PlaywrightCall) -> Result<RenderedSnapshot> {
        let Self { text, file } = self;
        let Some(name) = file else { return Ok(RenderedSnapshot { text, is_link: false }) };
        let file = output::write_text(call, name, text).await?;
        Ok(RenderedSnapshot { text: file.link("Snapshot"), is_link: true })
    }
}

/// Takes the snapshot of a result. `responds`: whether no dialog or file chooser is open.
/// Otherwise, the snapshot is empty.
async fn snapshot(
    call: &PlaywrightCall,
    page: &Page,
    shown: &ShownContent,
    responds: bool,
) -> Result<Option<TakenSnapshot>> {
    let boxes = call.config.snapshot_boxes;
    let of_page = AriaSnapshotOptions { boxes, ..Default::default() };
    let (options, file, taken) = match shown_by(call, shown) {
        ShownContent::Nothing => return Ok(None),
        ShownContent::Page { taken } => (&of_page, Some(None), taken.as_ref()),
        ShownContent::Snapshot { options, file } => (options, file.clone().map(Some), None),
    };
    let text = match taken {
        _ if !responds => String::new(),
        Some(taken) if taken.page_id == page.id => taken.text.clone(),
        _ => page.aria_snapshot(options).await?,
    };
    let file = file.map(|name| FileName::new(name, "page", "yml"));
    Ok(Some(TakenSnapshot { text, file }))
}

/// The lines about a page in a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PageHeader {
    title: String,
    url: String,
    is_current: bool,
    has_crashed: bool,
    /// The status of a document that is not 2xx: `404 Not Found`.
    status: Option<String>,
    errors: usize,
    warnings: usize,
}

impl PageHeader {
    pub async fn read(page: &Page, current: Option<&Page>) -> Self {
        let has_crashed = page.has_crashed();
        let title = if has_crashed || !modal_states(page).is_empty() {
            String::new()
        } else {
            page.title().await.unwrap_or_default()
        };
        let (_, errors, warnings) = page.console_counts();
        Self {
            title,
            url: page.document_url(),
            is_current: current.is_some_and(|current| current.id == page.id),
            has_crashed,
            status: page.document_status().filter(|(code, _)| !(200..300).contains(code)).map(
                |(code, text)| {
                    if text.is_empty() { code.to_string() } else { format!("{code} {text}") }
                },
            ),
            errors,
            warnings,
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("- Page URL: {}", self.url)];
        if !self.title.is_empty() {
            lines.push(format!("- Page Title: {}", self.title));
        }
        if self.has_crashed {
            lines.push("- Page status: crashed".to_owned());
        }
        lines.extend(self.status.as_ref().map(|status| format!("- HTTP status: {status}")));
        if self.errors + self.warnings > 0 {
            lines.push(format!("- Console: {} errors, {} warnings", self.errors, self.warnings));
        }
        lines
    }
}

/// Stores the headers. Returns whether one differs from the page's header in an earlier response.
fn store_headers(call: &PlaywrightCall, pages: &[Arc<Page>], headers: &[PageHeader]) -> bool {
    let state = call.state();
    let mut state = state.lock();
    let mut changed = false;
    for (page, header) in pages.iter().zip(headers) {
        let page_state = state.pages.entry(page.id.clone()).or_default();
        let is_blank = header.url == "about:blank" && header.title.is_empty();
        let is_same = match &page_state.header {
            Some(last) => last == header,
            None => is_blank && !header.is_current,
        };
        changed |= !is_same;
        page_state.header = Some(header.clone());
    }
    state.pages.retain(|id, _| pages.iter().any(|page| page.id == *id));
    changed
}

/// Returns the list of tabs.
pub(super) fn tab_lines(headers: &[PageHeader]) -> Vec<String> {
    if headers.is_empty() {
        return vec!["No open tabs. Navigate to a URL to create one.".to_owned()];
    }
    let line = |(index, header): (usize, &PageHeader)| {
        let current = if header.is_current { " (current)" } else { "" };
        let crashed = if header.has_crashed { " [crashed]" } else { "" };
        format!("- {index}:{current} [{}]({}){crashed}", header.title, header.url)
    };
    headers.iter().enumerate().map(line).collect()
}

/// Returns the header of each tab, and stores them.
pub(super) async fn read_headers(call: &PlaywrightCall) -> Vec<PageHeader> {
    let pages = call.session.open_pages();
    let current = call.session.current_page();
    let headers =
        join_all(pages.iter().map(|page| PageHeader::read(page, current.as_deref()))).await;
    store_headers(call, &pages, &headers);
    headers
}

/// The text of a result.
#[derive(Default)]
struct Sections {
    text: Vec<String>,
}

impl Sections {
    /// Adds a section, unless it is empty. With `language`, its lines are a code block.
    fn add(&mut self, title: &str, language: Option<&str>, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.text.push(format!("### {title}"));
        self.text.extend(language.map(|language| format!("```{language}")));
        self.text.extend(lines.iter().cloned());
        self.text.extend(language.map(|_| "```".to_owned()));
    }
}

fn content(
    call: &PlaywrightCall,
    lines: &[String],
    pictures: Vec<EncodedPicture>,
    is_error: bool,
) -> Value {
    let images: Vec<Value> = match call.config.image_responses {
        ImageResponses::Omit => Vec::new(),
        _ => pictures
            .into_iter()
            .map(|EncodedPicture { data, mime_type, .. }| {
                json!({"type": "image", "data": data, "mimeType": mime_type})
            })
            .collect(),
    };
    let only_images =
        call.config.image_responses == ImageResponses::Only && !images.is_empty() && !is_error;
    let text = json!({"type": "text", "text": lines.join("\n")});
    let text = (!only_images).then_some(text);
    let content: Vec<Value> = text.into_iter().chain(images).collect();
    if is_error {
        json!({"content": content, "isError": true})
    } else {
        json!({"content": content})
    }
}

/// Returns the result for a call that failed with `message`.
pub(in crate::tools) fn failure(message: &str) -> Value {
    json!({
        "content": [{"type": "text", "text": format!("### Error\n{message}")}],
        "isError": true,
    })
}

/// Returns the text of an error as JavaScript prints it.
pub(in crate::tools) fn error_text(error: &TroupeError) -> String {
    if let Some(reason) = error.message.strip_prefix("the browser could not be started: ") {
        return format!("Error: async initializeServer: Failed to launch the browser: {reason}");
    }
    match error.details.get("class").and_then(Value::as_str).unwrap_or("Error") {
        // The message of the validator has no class.
        "" => error.message.clone(),
        class => format!("{class}: {}", error.message),
    }
}
