//! The answer of a tool, as data that MCP, the JSON API and the Node library each render in their
//! own form.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    engine::{ConsoleKind, Dialog, FileChooser},
    error::{ErrorCode, Result, TroupeError},
    offload::{self, json_size},
    page::{ActionOutcome, Download, DownloadState, OpenDialog, Page, ValueMismatch},
    session::{PageInfo, Session, SessionNotice},
    store::Summary,
};

/// A successful call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// One JSON object.
    Json(Value),
    /// Text for reading (a snapshot).
    Text(String),
    Image(EncodedPicture),
    /// One JSON object, and the pictures that belong to it.
    Pictured {
        facts: Value,
        pictures: Vec<EncodedPicture>,
    },
    /// A complete MCP result, as the upstream server sent it.
    PassedThrough(Value),
}

/// A picture, base64.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncodedPicture {
    pub data: String,
    pub mime_type: Cow<'static, str>,
    /// The file that it was written to.
    pub path: Option<String>,
}

impl Answer {
    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let pictures = |pictures: &[EncodedPicture]| {
            pictures.iter().map(|picture| picture.data.len()).sum::<usize>()
        };
        match self {
            Self::Json(value) | Self::PassedThrough(value) => json_size(value),
            Self::Text(text) => text.len(),
            Self::Image(picture) => picture.data.len(),
            Self::Pictured { facts, pictures: taken } => json_size(facts) + pictures(taken),
        }
    }

    /// Returns the answer as one JSON value, for interfaces that have no other form.
    pub fn into_value(self) -> Value {
        match self {
            Self::Json(value) => value,
            Self::Text(text) => Value::String(text),
            Self::Image(picture) => picture.into_value(),
            Self::Pictured { facts: Value::String(text), pictures } => {
                let images: Vec<Value> =
                    pictures.into_iter().map(EncodedPicture::into_value).collect();
                json!({"text": text, "images": images})
            }
            Self::Pictured { mut facts, pictures } => {
                if let Some(picture) = pictures.into_iter().next() {
                    facts["image"] = picture.into_value();
                }
                facts
            }
            Self::PassedThrough(result) => result,
        }
    }

    /// Returns the message of an upstream server about a failed call.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::PassedThrough(result) if self.is_failure() => {
                Some(super::pass_through::text_of(result))
            }
            _ => None,
        }
    }

    /// Returns whether this is an upstream server's own error result.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::PassedThrough(result) if result["isError"] == true)
    }
}

impl EncodedPicture {
    fn into_value(self) -> Value {
        let mut value = json!({"data": self.data, "mimeType": self.mime_type});
        if let Some(path) = self.path {
            value["path"] = path.into();
        }
        value
    }

    /// Returns the fields of a result other than the picture.
    pub fn without_picture(&self) -> Option<Value> {
        self.path.as_ref().map(|path| json!({"path": path}))
    }
}

/// The outcome of a call, with the ids that every result contains. Servers send it to each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallOutcome {
    pub ref_id: String,
    pub session_id: Option<String>,
    pub page_id: Option<String>,
    pub result: Result<Answer, TroupeError>,
    /// The entry of the call in lists of the record, if it is recorded.
    pub recorded: Option<Summary>,
    /// A notice about the session, next to the content: that it was suspended and resumed, and what
    /// was lost.
    pub notices: Vec<SessionNotice>,
    /// Replaces the content, which stays in the record; also with an error.
    pub reference: Option<Value>,
}

impl Default for CallOutcome {
    /// Creates the outcome of a call that was not run.
    fn default() -> Self {
        Self {
            ref_id: String::new(),
            session_id: None,
            page_id: None,
            result: Err(TroupeError::new(ErrorCode::InternalError, "the call did not run")),
            recorded: None,
            notices: Vec::new(),
            reference: None,
        }
    }
}

impl CallOutcome {
    /// Returns the outcome of a call that failed before it ran.
    pub fn failed(error: TroupeError) -> Self {
        Self { result: Err(error), ..Self::default() }
    }

    /// Puts the notices into a JSON object or an error; keeps them beside every other content.
    pub(super) fn place_notices(&mut self) {
        let facts = match &mut self.result {
            Ok(
                Answer::Json(Value::Object(facts))
                | Answer::Pictured { facts: Value::Object(facts), .. },
            ) => facts,
            Ok(_) => return,
            Err(error) => &mut error.details,
        };
        for SessionNotice { field, text } in self.notices.drain(..) {
            facts.insert(field.into_owned(), text.into());
        }
    }

    /// Returns the approximate size of the content in bytes.
    pub fn bytes(&self) -> usize {
        self.result.as_ref().map_or(0, Answer::bytes)
    }

    /// Returns whether the tool has succeeded.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(|answer| !answer.is_failure())
    }

    /// Returns the id of the call in the record, if it is recorded.
    pub fn recorded_id(&self) -> Option<String> {
        self.recorded.as_ref().map(|_| self.ref_id.clone())
    }
}

/// The form of a tool's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Json,
    Text,
    Image,
    /// Text, and pictures if there are any.
    Content,
    /// The result of the upstream server, unchanged.
    PassedThrough,
}

impl AnswerKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Image => "image",
            Self::Content => "content",
            Self::PassedThrough => "passed",
        }
    }
}

/// Turns a handler's typed answer into an [`Answer`].
pub(super) trait IntoAnswer {
    const KIND: AnswerKind;
    fn into_answer(self) -> Answer;
    /// Returns the JSON Schema of the answer, where it is JSON.
    fn schema() -> Option<Value> {
        None
    }
    /// Returns the name of the answer's type, for tools that share it.
    fn type_name() -> Option<String> {
        None
    }
}

impl<T: Serialize + JsonSchema> IntoAnswer for T {
    const KIND: AnswerKind = AnswerKind::Json;

    fn into_answer(self) -> Answer {
        // Serializing plain structs of strings and numbers cannot fail.
        Answer::Json(serde_json::to_value(self).unwrap_or_default())
    }

    fn schema() -> Option<Value> {
        Some(super::parameters::answer_schema::<T>())
    }

    fn type_name() -> Option<String> {
        Some(T::schema_name().into_owned())
    }
}

/// A result that can be large. `bytes` is its approximate size.
pub(super) struct LargeAnswer<T> {
    pub bytes: usize,
    pub answer: T,
}

impl<T: Serialize + JsonSchema> IntoAnswer for LargeAnswer<T> {
    const KIND: AnswerKind = T::KIND;

    fn into_answer(self) -> Answer {
        offload::in_place(self.bytes, || self.answer.into_answer())
    }

    fn schema() -> Option<Value> {
        T::schema()
    }

    fn type_name() -> Option<String> {
        T::type_name()
    }
}

/// A result that is text.
pub(super) struct TextAnswer(pub String);

impl IntoAnswer for TextAnswer {
    const KIND: AnswerKind = AnswerKind::Text;

    fn into_answer(self) -> Answer {
        Answer::Text(self.0)
    }
}

/// The content of an earlier call.
#[derive(Default)]
pub(super) struct CallContent {
    pub text: String,
    pub pictures: Vec<EncodedPicture>,
}

impl IntoAnswer for CallContent {
    const KIND: AnswerKind = AnswerKind::Content;

    fn into_answer(self) -> Answer {
        match self.pictures.is_empty() {
            true => Answer::Text(self.text),
            false => Answer::Pictured { facts: Value::String(self.text), pictures: self.pictures },
        }
    }
}

impl IntoAnswer for EncodedPicture {
    const KIND: AnswerKind = AnswerKind::Image;

    fn into_answer(self) -> Answer {
        Answer::Image(self)
    }
}

/// A JSON object, and a picture that belongs to it.
pub(super) struct AnswerWithPicture<T> {
    pub facts: T,
    pub picture: EncodedPicture,
}

impl<T: Serialize + JsonSchema> IntoAnswer for AnswerWithPicture<T> {
    const KIND: AnswerKind = AnswerKind::Json;

    fn into_answer(self) -> Answer {
        // Serializing plain structs of strings and numbers cannot fail.
        let facts = serde_json::to_value(self.facts).unwrap_or_default();
        Answer::Pictured { facts, pictures: vec![self.picture] }
    }

    /// Returns the schema for Node, where the picture is a field of the object.
    fn schema() -> Option<Value> {
        let mut schema = super::parameters::answer_schema::<T>();
        if let Some(properties) = schema["properties"].as_object_mut() {
            let text = json!({"type": "string"});
            let picture = json!({
                "type": "object", "properties": {"data": text, "mimeType": text}, "required": ["data", "mimeType"],
            });
            properties.insert("image".into(), picture);
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("image".into());
        }
        Some(schema)
    }
}

/// A dialog that waits for an answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct DialogAnswer {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(rename = "type")]
    kind: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_value: Option<String>,
    /// The page to answer it in, if that is another page.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_id: Option<String>,
}

impl From<OpenDialog> for DialogAnswer {
    fn from(OpenDialog { dialog, page_id }: OpenDialog) -> Self {
        let Dialog { kind, message, default_value } = dialog;
        Self { kind, message, default_value, page_id }
    }
}

/// A download that has begun or ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(super) struct DownloadAnswer {
    url: String,
    suggested_filename: String,
    /// `completed`, `failed`, or `inProgress`: a later action's result then reports the end.
    state: &'static str,
    /// Path of the file, once it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl From<Download> for DownloadAnswer {
    fn from(Download { url, suggested_filename, state }: Download) -> Self {
        let (state, path, failure) = match state {
            DownloadState::InProgress => ("inProgress", None, None),
            DownloadState::Completed(location) => ("completed", Some(location.to_string()), None),
            DownloadState::Failed(why) => ("failed", None, Some(why)),
        };
        Self { url, suggested_filename, state, path, failure }
    }
}

/// Returns the downloads that were not reported yet: the first, and the others.
pub(super) async fn downloads(page: &Page) -> (Option<DownloadAnswer>, Vec<DownloadAnswer>) {
    let mut changes = page.download_changes().await.into_iter().map(DownloadAnswer::from);
    (changes.next(), changes.collect())
}

/// The document that an action loaded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct DocumentAnswer {
    url: String,
    title: String,
    /// Why the document could not be loaded: `net::ERR_CONNECTION_REFUSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// A file chooser that the action opened.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct FileChooserAnswer {
    multiple: bool,
    /// Why it cannot receive files.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsupported: Option<&'static str>,
}

/// Maximum characters of a field's value or of an error in a message.
const MAX_VALUE_LENGTH: usize = 200;

/// The reason for choosers of the File System Access API. For the page, the user has canceled.
const FILE_SYSTEM_ACCESS: &str = "the page called the File System Access API (showOpenFilePicker, showSaveFilePicker or showDirectoryPicker); \
     its chooser was canceled";

impl From<FileChooser> for FileChooserAnswer {
    fn from(FileChooser { input, multiple, .. }: FileChooser) -> Self {
        Self { multiple, unsupported: input.is_none().then_some(FILE_SYSTEM_ACCESS) }
    }
}

/// The result of a tool that changes a setting of the session.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChangedAnswer {
    success: bool,
    message: String,
}

pub(super) fn changed(message: impl Into<String>) -> ChangedAnswer {
    ChangedAnswer { success: true, message: message.into() }
}

/// The session and the page before an action.
pub(super) struct BeforeAction {
    /// The number of pages that the session had opened.
    pages_opened: usize,
    url: String,
    /// The number of console messages of the page.
    messages: usize,
}

impl BeforeAction {
    pub fn of(call: &super::tool::PageCall) -> Self {
        let (pages_opened, page) = (call.session.pages_opened(), &call.page);
        Self { pages_opened, url: page.url(), messages: page.console_count() }
    }
}

/// Returns `text`, or its begin if it is too long for a message.
fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the text for the uncaught errors of the page among its console messages from the number
/// `first` on: the first error, and the number of the others.
fn uncaught_errors(page: &Page, first: usize) -> String {
    let (messages, _) = page.console_messages_since(first);
    let mut errors = messages.iter().filter(|message| message.kind == ConsoleKind::PageError);
    let Some(error) = errors.next() else { return String::new() };
    let mut text = truncated(error.text.lines().next().unwrap_or_default());
    if let (Some(url), Some(line)) = (&error.url, error.line) {
        text.push_str(&format!(" ({url}:{line})"));
    }
    let others = errors.count();
    let others = if others > 0 { format!(", and {others} more") } else { String::new() };
    format!("; the page threw an uncaught error: {text}{others}")
}

/// The result of every action.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActionAnswer {
    success: bool,
    message: String,
    /// Lines of the snapshot that were added (+), removed (-) or changed (~).
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<String>,
    /// The changes between the last result and this action.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_changes: Option<String>,
    /// The page after the action, if the configuration returns it: after each action, or a short
    /// snapshot after a navigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
    /// A file chooser that the action opened; `upload_file` on the same element answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_chooser: Option<FileChooserAnswer>,
    /// Set if the action has loaded another document.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<DocumentAnswer>,
    /// The new URL, if the action has changed it without loading another document.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// A dialog that the action opened; the page waits until `handle_dialog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog: Option<DialogAnswer>,
    /// A page that the action opened in addition to the current one.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_page: Option<PageInfo>,
    /// Further pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    new_pages: Vec<PageInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<DownloadAnswer>,
    /// Further downloads, also of other pages or not reported before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    downloads: Vec<DownloadAnswer>,
    /// False if requests were still in flight when the wait ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<bool>,
}

impl ActionAnswer {
    /// Creates the result for `done`.
    pub async fn of(
        call: &super::tool::PageCall,
        verb: &str,
        done: ActionOutcome,
        before: BeforeAction,
    ) -> Self {
        let settled = done.settled;
        let mut snapshot = done.snapshot;
        let is_navigated = settled.navigated && settled.dialog.is_none();
        if call.overview && snapshot.is_none() && (is_navigated || call.is_new) {
            if is_navigated {
                call.page.await_content(true).await;
            }
            snapshot = call.page.overview().await;
        }
        let page = if is_navigated {
            let title = call.page.title().await.unwrap_or_default();
            Some(DocumentAnswer { url: call.page.url(), title, failure: call.page.failure() })
        } else {
            None
        };
        let url = Some(call.page.url()).filter(|url| !settled.navigated && *url != before.url);
        let opened = opened_since(&call.session, before.pages_opened, &settled.windows).await;
        let mut opened = opened.into_iter();
        let (download, downloads) = downloads(&call.page).await;
        let mut message = format!("{verb} {}", done.element);
        if settled.closed {
            message.push_str("; the page has closed");
        }
        for field in &done.other_values {
            message.push_str(&other_value(field));
        }
        let mut answer = Self {
            success: true,
            message,
            changes: done.changes,
            earlier_changes: done.earlier_changes,
            snapshot,
            file_chooser: settled.file_chooser.map(Into::into),
            page,
            url,
            dialog: settled.dialog.map(Into::into),
            new_page: opened.next(),
            new_pages: opened.collect(),
            download,
            downloads,
            settled: settled.timed_out.then_some(false),
        };
        // These explain why an action has no effect.
        if !answer.has_effect() {
            if settled.escaped {
                answer.message.push_str(
                    "; but it moved away from the pointer and got no `click` event: click it again",
                );
            }
            answer.message.push_str(&uncaught_errors(&call.page, before.messages));
        }
        answer
    }
}

/// Returns the text for a field whose value differs from the entered text.
fn other_value(ValueMismatch { description, value, max_length, .. }: &ValueMismatch) -> String {
    let value = match value {
        Some(value) => format!("{:?}", truncated(value)),
        None => "not shown: it is a secret".to_owned(),
    };
    let limit = max_length.map(|limit| format!("; its maxlength is {limit}")).unwrap_or_default();
    format!("; but the value of {description} differs from the given text ({value}{limit})")
}

impl ActionAnswer {
    fn has_effect(&self) -> bool {
        self.changes.is_some()
            || self.page.is_some()
            || self.url.is_some()
            || self.dialog.is_some()
            || self.new_page.is_some()
            || self.download.is_some()
            || self.file_chooser.is_some()
    }

    /// Adds to the message if the action had no visible effect.
    pub fn note_if_no_effect(&mut self) {
        if !self.has_effect() {
            self.message.push_str("; the page's snapshot did not change");
        }
    }
}

/// Returns the pages that opened after the first `before`. `requested`: the URLs that the action
/// requested. Waits until the first page has its document.
async fn opened_since(session: &Session, before: usize, requested: &[String]) -> Vec<PageInfo> {
    let opened = session.pages_opened_since(before, requested.len()).await;
    // A tab that a link opens because of a modifier key is not announced in advance.
    if let Some(first) = opened.first()
        && requested.first().is_none_or(|url| !url.is_empty() && url != "about:blank")
    {
        first.await_first_document().await;
    }
    opened.iter().map(|page| PageInfo::of(page)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FileLocation;

    fn download(state: DownloadState) -> DownloadAnswer {
        Download { url: "http://a/file".into(), suggested_filename: "file".into(), state }.into()
    }

    #[test]
    fn an_action_reports_its_effects_and_nothing_else() {
        let quiet = ActionAnswer {
            success: true,
            message: "Clicked button \"Go\" [ref=e1]".into(),
            changes: None,
            earlier_changes: None,
            snapshot: None,
            file_chooser: None,
            page: None,
            url: None,
            dialog: None,
            new_page: None,
            new_pages: Vec::new(),
            download: None,
            downloads: Vec::new(),
            settled: None,
        };
        let eventful = ActionAnswer {
            changes: Some("~ button \"Gone\" [ref=e1]".into()),
            earlier_changes: Some("+ alert: Saved".into()),
            snapshot: Some("- button \"Gone\" [ref=e1]".into()),
            file_chooser: Some(FileChooserAnswer {
                multiple: true,
                unsupported: Some(FILE_SYSTEM_ACCESS),
            }),
            page: Some(DocumentAnswer {
                url: "http://a/".into(),
                title: "A".into(),
                failure: Some("net::ERR_CONNECTION_REFUSED".into()),
            }),
            dialog: Some(
                OpenDialog {
                    dialog: Dialog {
                        kind: "prompt".into(),
                        message: "Name?".into(),
                        default_value: Some("me".into()),
                    },
                    page_id: Some("page-2".into()),
                }
                .into(),
            ),
            new_page: Some(PageInfo {
                page_id: "page-2".into(),
                url: "http://b/".into(),
                crashed: Some(true),
            }),
            new_pages: vec![PageInfo {
                page_id: "page-3".into(),
                url: "http://c/".into(),
                crashed: None,
            }],
            download: Some(download(DownloadState::Completed(FileLocation::Local(
                "/out/file".into(),
            )))),
            downloads: vec![
                download(DownloadState::InProgress),
                download(DownloadState::Failed("net::ERR_FAILED".into())),
            ],
            settled: Some(false),
            ..quiet.clone()
        };
        insta::assert_json_snapshot!([quiet, eventful]);
    }

    #[test]
    fn each_kind_of_result_is_one_value_for_node() {
        let picture =
            || EncodedPicture { data: "AAAA".into(), mime_type: "image/png".into(), path: None };
        let answers = [
            Answer::Json(json!({"success": true})),
            Answer::Text("- button".into()),
            Answer::Image(picture()),
            Answer::Pictured { facts: json!({"percentage": 1.5}), pictures: vec![picture()] },
        ];
        insta::assert_json_snapshot!(answers.map(Answer::into_value));
    }
}
