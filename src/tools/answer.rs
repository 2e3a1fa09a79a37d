//! The answer of a tool, as data that MCP, the JSON API and the Node library each render in their own form.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    engine::{Dialog, FileChooser},
    error::{ErrorCode, Result, TroupeError},
    offload::{self, json_size},
    page::{ActionOutcome, Download, DownloadState, OpenDialog, OtherValue, Page},
    session::{PageInfo, Session},
    store::Summary,
};

/// A successful call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// One JSON object.
    Json(Value),
    /// Text for reading (a snapshot).
    Text(String),
    Image(Picture),
    /// One JSON object, and pictures that show what it says.
    Pictured {
        facts: Value,
        pictures: Vec<Picture>,
    },
    /// A whole result of MCP, as the upstream server gave it.
    Passed(Value),
}

/// A picture, base64.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub data: String,
    pub mime_type: Cow<'static, str>,
    /// The file that it was written to.
    pub path: Option<String>,
}

impl Answer {
    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        let pictures =
            |pictures: &[Picture]| pictures.iter().map(|picture| picture.data.len()).sum::<usize>();
        match self {
            Self::Json(value) | Self::Passed(value) => json_size(value),
            Self::Text(text) => text.len(),
            Self::Image(picture) => picture.data.len(),
            Self::Pictured { facts, pictures: taken } => json_size(facts) + pictures(taken),
        }
    }

    /// The answer as one JSON value, for interfaces that have no other form.
    pub fn into_value(self) -> Value {
        match self {
            Self::Json(value) => value,
            Self::Text(text) => Value::String(text),
            Self::Image(picture) => picture.into_value(),
            Self::Pictured { facts: Value::String(text), pictures } => {
                let images: Vec<Value> = pictures.into_iter().map(Picture::into_value).collect();
                json!({"text": text, "images": images})
            }
            Self::Pictured { mut facts, pictures } => {
                if let Some(picture) = pictures.into_iter().next() {
                    facts["image"] = picture.into_value();
                }
                facts
            }
            Self::Passed(result) => result,
        }
    }

    /// The message of an upstream server about a failed call.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Passed(result) if self.is_failure() => Some(super::passed::text_of(result)),
            _ => None,
        }
    }

    /// Whether this is an upstream server's own error result.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Passed(result) if result["isError"] == true)
    }
}

impl Picture {
    fn into_value(self) -> Value {
        let mut value = json!({"data": self.data, "mimeType": self.mime_type});
        if let Some(path) = self.path {
            value["path"] = path.into();
        }
        value
    }

    /// The fields of a result besides the picture.
    pub fn facts(&self) -> Option<Value> {
        self.path.as_ref().map(|path| json!({"path": path}))
    }
}

/// A call that is over, with the names that every answer carries.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub ref_id: String,
    pub session_id: Option<String>,
    pub page_id: Option<String>,
    pub result: Result<Answer, TroupeError>,
    /// The entry of the call in lists of the record, if it is recorded.
    pub recorded: Option<Summary>,
    /// A notice about its session besides the content: that it was suspended and resumed, and what is lost.
    pub notice: Option<String>,
    /// Replaces the content, which stays in the record; also with an error.
    pub reference: Option<Value>,
}

impl Default for Outcome {
    /// A call that was not run.
    fn default() -> Self {
        Self {
            ref_id: String::new(),
            session_id: None,
            page_id: None,
            result: Err(TroupeError::new(ErrorCode::InternalError, "the call was not run")),
            recorded: None,
            notice: None,
            reference: None,
        }
    }
}

impl Outcome {
    /// Puts the notice into a JSON object or an error; keeps it beside every other content.
    pub(super) fn place_notice(&mut self) {
        const KEY: &str = "resumed";
        let Some(notice) = self.notice.take() else { return };
        match &mut self.result {
            Ok(
                Answer::Json(Value::Object(facts))
                | Answer::Pictured { facts: Value::Object(facts), .. },
            ) => {
                facts.insert(KEY.to_owned(), notice.into());
            }
            Ok(_) => self.notice = Some(notice),
            Err(error) => {
                error.details.insert(KEY.to_owned(), notice.into());
            }
        }
    }

    /// About how many bytes its content has.
    pub fn bytes(&self) -> usize {
        self.result.as_ref().map_or(0, Answer::bytes)
    }

    /// Whether the tool has succeeded.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(|answer| !answer.is_failure())
    }

    /// The id of the call in the record, if it is recorded.
    pub fn recorded_id(&self) -> Option<String> {
        self.recorded.as_ref().map(|_| self.ref_id.clone())
    }
}

/// In which form a tool answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    Json,
    Text,
    Image,
    /// Text, and pictures if there are any.
    Content,
    /// In its own.
    Passed,
}

impl AnswerKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
            Self::Image => "image",
            Self::Content => "content",
            Self::Passed => "passed",
        }
    }
}

/// Turns a handler's typed answer into an [`Answer`].
pub(super) trait IntoAnswer {
    const KIND: AnswerKind;
    fn into_answer(self) -> Answer;
    /// The JSON Schema of the answer, where it is JSON.
    fn schema() -> Option<Value> {
        None
    }
    /// The name of the answer's type, for tools that share it.
    fn type_name() -> Option<String> {
        None
    }
}

impl<T: Serialize + JsonSchema> IntoAnswer for T {
    const KIND: AnswerKind = AnswerKind::Json;

    fn into_answer(self) -> Answer {
        // Plain structs of strings and numbers: this cannot fail.
        Answer::Json(serde_json::to_value(self).unwrap_or_default())
    }

    fn schema() -> Option<Value> {
        Some(super::parameters::answer_schema::<T>())
    }

    fn type_name() -> Option<String> {
        Some(T::schema_name().into_owned())
    }
}

/// An answer of about `bytes` bytes, which can be many.
pub(super) struct Large<T> {
    pub bytes: usize,
    pub answer: T,
}

impl<T: Serialize + JsonSchema> IntoAnswer for Large<T> {
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

/// Text that is its own answer.
pub(super) struct Text(pub String);

impl IntoAnswer for Text {
    const KIND: AnswerKind = AnswerKind::Text;

    fn into_answer(self) -> Answer {
        Answer::Text(self.0)
    }
}

/// The content of an earlier call.
#[derive(Default)]
pub(super) struct Content {
    pub text: String,
    pub pictures: Vec<Picture>,
}

impl IntoAnswer for Content {
    const KIND: AnswerKind = AnswerKind::Content;

    fn into_answer(self) -> Answer {
        match self.pictures.is_empty() {
            true => Answer::Text(self.text),
            false => Answer::Pictured { facts: Value::String(self.text), pictures: self.pictures },
        }
    }
}

impl IntoAnswer for Picture {
    const KIND: AnswerKind = AnswerKind::Image;

    fn into_answer(self) -> Answer {
        Answer::Image(self)
    }
}

/// Facts, and a picture that shows them.
pub(super) struct Pictured<T> {
    pub facts: T,
    pub picture: Picture,
}

impl<T: Serialize + JsonSchema> IntoAnswer for Pictured<T> {
    const KIND: AnswerKind = AnswerKind::Json;

    fn into_answer(self) -> Answer {
        // Plain structs of strings and numbers: this cannot fail.
        let facts = serde_json::to_value(self.facts).unwrap_or_default();
        Answer::Pictured { facts, pictures: vec![self.picture] }
    }

    /// As Node has it: the picture beside the facts.
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
    /// The page to answer it in, where that is another one.
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
    /// `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer.
    state: &'static str,
    /// Where the file is, once it is complete.
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
            DownloadState::Completed(path) => ("completed", Some(path.display().to_string()), None),
            DownloadState::Failed(why) => ("failed", None, Some(why)),
        };
        Self { url, suggested_filename, state, path, failure }
    }
}

/// The downloads for an answer: the first, and the others if there are more.
pub(super) async fn downloads(page: &Page) -> (Option<DownloadAnswer>, Vec<DownloadAnswer>) {
    let mut news = page.download_news().await.into_iter().map(DownloadAnswer::from);
    (news.next(), news.collect())
}

/// Where the page is after an action that led it elsewhere.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct PlaceAnswer {
    url: String,
    title: String,
    /// Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// A file chooser that the action opened.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct FileChooserAnswer {
    multiple: bool,
    /// Why no files can be given to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsupported: Option<&'static str>,
}

/// Characters of a field's value that a message shows.
const LONGEST_VALUE: usize = 200;

/// Choosers of a page's scripts: the page heard that the user canceled.
const FILE_SYSTEM_ACCESS: &str = "the page called the File System Access API (showOpenFilePicker, showSaveFilePicker or showDirectoryPicker); \
     its chooser was canceled";

impl From<FileChooser> for FileChooserAnswer {
    fn from(FileChooser { input, multiple, .. }: FileChooser) -> Self {
        Self { multiple, unsupported: input.is_none().then_some(FILE_SYSTEM_ACCESS) }
    }
}

/// The result of a tool that changes a setting of the session.
#[derive(Serialize, JsonSchema)]
pub(super) struct Changed {
    success: bool,
    message: String,
}

pub(super) fn changed(message: impl Into<String>) -> Changed {
    Changed { success: true, message: message.into() }
}

/// What every action answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActionAnswer {
    success: bool,
    message: String,
    /// Lines of the snapshot that came (+), went (-) or are other now (~).
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<String>,
    /// The same for what changed between the last result and this action.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_changes: Option<String>,
    /// The page after the action, if the configuration returns it: after each action, or a short snapshot after a navigation.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
    /// A file chooser that the action opened; `upload_file` on the same element answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_chooser: Option<FileChooserAnswer>,
    /// Set where the action has led to another document.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PlaceAnswer>,
    /// A dialog that the action opened; the page waits until `handle_dialog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialog: Option<DialogAnswer>,
    /// A page that the action opened beside the present one.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_page: Option<PageInfo>,
    /// Further ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    new_pages: Vec<PageInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<DownloadAnswer>,
    /// Further ones, of other pages or still told of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    downloads: Vec<DownloadAnswer>,
    /// False where requests were still under way when the time to wait was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<bool>,
}

impl ActionAnswer {
    /// The facts of `done`; `before` is how many pages the session had opened by then.
    pub async fn of(
        call: &super::tool::PageCall,
        verb: &str,
        done: ActionOutcome,
        before: usize,
    ) -> Self {
        let settled = done.settled;
        let mut snapshot = done.snapshot;
        let is_navigated = settled.navigated && settled.dialog.is_none();
        if call.overview && snapshot.is_none() && (is_navigated || call.is_new) {
            if is_navigated {
                call.page.content_loaded().await;
            }
            snapshot = call.page.overview().await;
        }
        let page = if is_navigated {
            let title = call.page.title().await.unwrap_or_default();
            Some(PlaceAnswer { url: call.page.url(), title, failure: call.page.failure() })
        } else {
            None
        };
        let mut opened = opened_since(&call.session, before, &settled.windows).await.into_iter();
        let (download, downloads) = downloads(&call.page).await;
        let mut message = format!("{verb} {}", done.element);
        if settled.closed {
            message.push_str("; the page has closed");
        }
        for field in &done.other_values {
            message.push_str(&other_value(field));
        }
        Self {
            success: true,
            message,
            changes: done.changes,
            earlier_changes: done.earlier_changes,
            snapshot,
            file_chooser: settled.file_chooser.map(Into::into),
            page,
            dialog: settled.dialog.map(Into::into),
            new_page: opened.next(),
            new_pages: opened.collect(),
            download,
            downloads,
            settled: settled.timed_out.then_some(false),
        }
    }
}

/// Says that a field has another value than the text that was entered.
fn other_value(OtherValue { description, value, max_length, .. }: &OtherValue) -> String {
    let value = match value {
        Some(value) if value.chars().count() > LONGEST_VALUE => {
            format!("{:?}…", value.chars().take(LONGEST_VALUE).collect::<String>())
        }
        Some(value) => format!("{value:?}"),
        None => "not shown: it is secret".to_owned(),
    };
    let limit = max_length.map(|limit| format!("; its maxlength is {limit}")).unwrap_or_default();
    format!("; but the value of {description} is not the given text ({value}{limit})")
}

impl ActionAnswer {
    /// Says so where the action has changed nothing in its page, opened nothing and led nowhere.
    pub fn tell_if_nothing_came(&mut self) {
        let came = self.changes.is_some()
            || self.page.is_some()
            || self.dialog.is_some()
            || self.new_page.is_some()
            || self.download.is_some()
            || self.file_chooser.is_some();
        if !came {
            self.message.push_str("; the page's snapshot is as before");
        }
    }
}

/// The pages that opened after the first `before`, the first of them once it is where it was `meant` to be.
async fn opened_since(session: &Session, before: usize, meant: &[String]) -> Vec<PageInfo> {
    let opened = session.pages_opened_since(before, meant.len()).await;
    // A tab that a link opens because of a modifier key is not announced in advance.
    if let Some(first) = opened.first()
        && meant.first().is_none_or(|url| !url.is_empty() && url != "about:blank")
    {
        first.first_document().await;
    }
    opened.iter().map(|page| PageInfo::of(page)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn download(state: DownloadState) -> DownloadAnswer {
        Download { url: "http://a/file".into(), suggested_filename: "file".into(), state }.into()
    }

    #[test]
    fn an_action_tells_what_has_come_of_it_and_nothing_else() {
        let quiet = ActionAnswer {
            success: true,
            message: "Clicked button \"Go\" [ref=e1]".into(),
            changes: None,
            earlier_changes: None,
            snapshot: None,
            file_chooser: None,
            page: None,
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
            page: Some(PlaceAnswer {
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
            download: Some(download(DownloadState::Completed("/out/file".into()))),
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
    fn each_kind_of_answer_is_one_value_for_node() {
        let picture = || Picture { data: "AAAA".into(), mime_type: "image/png".into(), path: None };
        let answers = [
            Answer::Json(json!({"success": true})),
            Answer::Text("- button".into()),
            Answer::Image(picture()),
            Answer::Pictured { facts: json!({"percentage": 1.5}), pictures: vec![picture()] },
        ];
        insta::assert_json_snapshot!(answers.map(Answer::into_value));
    }
}
