//! Records a call: its request before it runs, its answer before it is sent.

use std::{borrow::Cow, sync::Arc};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, CallOutcome, EncodedPicture},
    pass_through, raw_json,
    registry::Registry,
    tool::{Callable, Group, Tool, ToolRunner},
    typed::{self, TypedValue},
};
use crate::{
    config::Config,
    engine::ConsoleMessage,
    error::{self, ErrorCode, TroupeError},
    offload::{self, json_size},
    page::{ChangedFields, Page},
    policy::{
        redaction::{self, MASK, Secrets},
        vault::Vault,
    },
    session::{Connection, Session},
    store::{
        self, Message, NewAnswer, NewRequest, Picture, RecordingFailure, Store, Summary, iso8601,
        now,
    },
    upstream::PageObservations,
};

/// A result in the record: as it was sent, with numbers in place of pictures.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredResult<'a> {
    content: Vec<ResultPart<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum ResultPart<'a> {
    Text { text: &'a str },
    Image { mime_type: &'a str, picture: usize },
}

/// The recording of a call. If it is dropped before it is finished, the call is recorded as
/// canceled.
pub(super) struct Recording {
    store: Store,
    tool: Callable,
    params: Value,
    request: Option<NewRequest>,
    keep_credentials: bool,
    takes_pictures: bool,
    /// A small picture of the page after the call: JPEG.
    page_picture: Option<Vec<u8>>,
    session: Option<Arc<Session>>,
    /// For each field that was typed into, whether it is for passwords; `None` until that is known.
    passwords: Option<Vec<bool>>,
    page_snapshot: Option<Arc<str>>,
    /// The test ids of the elements that the call acted on, by their refs.
    test_ids: Map<String, Value>,
    /// The result of a call to the upstream server, as it was sent: JSON.
    passed_through: Option<Box<str>>,
    /// Console messages in that result which an earlier result also had.
    repeated: Vec<ConsoleMessage>,
    begun: bool,
    /// Whether the call was rejected because its request could not be recorded.
    refused: bool,
}

impl Recording {
    /// Creates the recording of a call to `tool`. Calls that read the record are not recorded.
    pub fn new(
        store: &Store,
        tool: Callable,
        ref_id: &str,
        connection: &Connection,
        arguments: &Value,
        config: &Config,
    ) -> Self {
        let recorded = store.records() && tool.group != Group::Record;
        let request = recorded.then(|| NewRequest {
            ref_id: ref_id.into(),
            session_id: None,
            connection_id: connection.id().clone(),
            tool: tool.name.clone(),
            params: String::new(),
            at: now(),
        });
        Self {
            store: store.clone(),
            tool,
            params: arguments.clone(),
            request,
            keep_credentials: config.record_headers,
            takes_pictures: config.record_pictures,
            page_picture: None,
            session: None,
            passwords: None,
            page_snapshot: None,
            test_ids: Map::new(),
            passed_through: None,
            repeated: Vec::new(),
            begun: false,
            refused: false,
        }
    }

    /// Sets the parameters, under their camelCase names.
    pub fn set_parameters(&mut self, given: &Map<String, Value>) {
        self.params = Value::Object(given.clone());
    }

    /// Returns whether the call is recorded.
    pub fn is_recorded(&self) -> bool {
        self.request.is_some()
    }

    /// Writes the request before the call runs. `session`: the session of the call, if it has one.
    /// Fails if the call must not run without a record.
    pub async fn begin(&mut self, session: Option<Arc<Session>>) -> error::Result<()> {
        self.session = session;
        self.begun = true;
        let id = self.session.as_ref().map(|session| session.id.clone());
        if let Some(request) = self.current_request(id) {
            let recorded = self.store.request(request).await;
            self.refused = recorded.is_err();
            recorded.map_err(|reason| not_recorded(&reason, "the call was not run"))?;
        }
        Ok(())
    }

    /// Records the page after a call, if the call has acted on the page.
    pub async fn record_page(&mut self, page: &Page) {
        if self.is_recorded() {
            self.test_ids = page.test_ids_in(&self.params, self.tool.is_playwright());
        }
        if self.is_recorded() && self.tool.acts_on_page() {
            self.page_snapshot = Box::pin(page.text_after()).await;
            if self.takes_pictures && self.shows_no_secret() {
                self.page_picture = Box::pin(page.small_picture()).await;
            }
        }
    }

    /// Returns whether the page can be recorded as a picture: its snapshot is known and contains no
    /// secret. A person who controls the session may type one.
    fn shows_no_secret(&self) -> bool {
        let (Some(session), Some(text)) = (&self.session, &self.page_snapshot) else {
            return false;
        };
        session.controller().is_none()
            && offload::in_place(text.len(), || session.secrets.mask(text).is_none())
    }

    /// Adds which of the fields that the call has filled are for passwords.
    pub fn add_entered_fields(&mut self, ChangedFields { passwords, secret }: ChangedFields) {
        if let Some(session) = &self.session {
            secret.iter().for_each(|secret| session.secrets.add(secret));
            // A single key is not a secret, and it does not show whether a text is one.
            let typed = typed_values(&self.tool, &mut self.params).into_iter().enumerate();
            for (index, typed) in typed.filter(|(_, typed)| !typed.is_key) {
                match (passwords.get(index), typed.value.as_str()) {
                    (Some(true), Some(text)) => session.secrets.add(text),
                    (Some(false), Some(text)) => session.secrets.add_unprotected(text),
                    _ => {}
                }
            }
        }
        self.passwords = Some(passwords);
    }

    /// Masks the secrets of the session and of the server in the result: an agent gets the same
    /// text as the record.
    pub fn redact(&self, result: error::Result<Answer>, vault: &Vault) -> error::Result<Answer> {
        match self.session.as_ref().map(|session| &session.secrets) {
            Some(secrets) => redact(result, &**secrets),
            None => redact(result, vault),
        }
    }

    /// Writes the answer of the call, and returns when that is done. `whole` is the complete text
    /// of a cut answer. Fails if the answer must not be sent without a record.
    pub async fn finish(
        mut self,
        outcome: &CallOutcome,
        whole: Option<Arc<str>>,
    ) -> error::Result<Option<Summary>> {
        let session_id = self.session.as_ref().map(|session| session.id.clone());
        let session_id = session_id.or_else(|| outcome.session_id.as_deref().map(Into::into));
        let Some(request) = self.current_request(session_id) else { return Ok(None) };
        self.request = None;
        let bytes = [&self.page_snapshot, &whole]
            .into_iter()
            .flatten()
            .map(|text| text.len())
            .sum::<usize>()
            + outcome.result.as_ref().map_or(0, Answer::bytes);
        let answer = offload::in_place(bytes, || self.answer(outcome, whole));
        let summary = Summary {
            ref_id: request.ref_id.to_string(),
            session_id: request.session_id.as_deref().map(str::to_owned),
            tool: request.tool.clone().into_owned(),
            at: request.at,
            success: Some(outcome.is_success()),
            answered_at: Some(now()),
            has_snapshot: answer.page_snapshot.is_some(),
            console_messages: count(&answer, |_| true),
            console_errors: count(&answer, |message| message.level == "error"),
        };
        let written = self.store.answer(request, answer);
        // The caller already knows that the record is not available.
        if !self.refused {
            let effect = "the call may have taken effect, and its result was discarded";
            written.await.map_err(|reason| not_recorded(&reason, effect))?;
        }
        Ok(Some(summary))
    }

    /// Returns the answer as it is recorded: without secrets, with pictures decoded.
    fn answer(&mut self, outcome: &CallOutcome, whole: Option<Arc<str>>) -> NewAnswer {
        let console =
            self.session.as_ref().map(|session| session.console().take()).unwrap_or_default();
        let repeated = std::mem::take(&mut self.repeated);
        let (result, text, pictures) = self.result(outcome);
        let page_snapshot = match self.tool.properties.is_snapshot {
            true => text.map(Into::into),
            false => self.page_snapshot.take().map(|text| self.masked(text)),
        };
        let test_ids = std::mem::take(&mut self.test_ids);
        NewAnswer {
            result,
            test_ids: (!test_ids.is_empty())
                .then(|| self.masked_json(&Value::Object(test_ids)).into_owned()),
            page_snapshot,
            content: whole.map(|text| self.masked(text)),
            error_message: self.error_message(outcome),
            console: self.masked_messages(console),
            repeated_console: self.masked_messages(repeated),
            pictures,
            page_picture: self
                .page_picture
                .take()
                .map(|data| Picture { mime_type: "image/jpeg".into(), data }),
        }
    }

    /// Sets the result that an upstream server returned: its observations and its JSON text.
    pub fn set_passed_through(&mut self, found: PageObservations, text: Box<str>) {
        self.page_snapshot = found.snapshot.map(Into::into);
        self.repeated = found.repeated;
        self.passed_through = Some(text);
    }

    /// Returns the error message, if the call failed.
    fn error_message(&self, outcome: &CallOutcome) -> Option<String> {
        let message = match &outcome.result {
            Err(error) => Some(error.message.clone()),
            Ok(answer) => answer.failure(),
        };
        message.map(|message| self.mask(&message).unwrap_or(message))
    }

    /// Returns the request with its parameters as they are known now.
    fn current_request(&self, session_id: Option<Arc<str>>) -> Option<Arc<NewRequest>> {
        let mut request = self.request.clone()?;
        request.params = offload::in_place(json_size(&self.params), || self.masked_params());
        request.session_id = session_id;
        Some(Arc::new(request))
    }

    /// Returns the parameters as they are recorded: JSON without secrets.
    fn masked_params(&self) -> String {
        let mut params = self.params.clone();
        for (index, typed) in typed_values(&self.tool, &mut params).into_iter().enumerate() {
            let known = self.passwords.as_ref().and_then(|passwords| passwords.get(index));
            let vault = self.session.as_ref().map(|session| session.secrets.vault());
            let named =
                typed.value.as_str().zip(vault).and_then(|(name, vault)| vault.placeholder(name));
            if let Some(placeholder) = named {
                *typed.value = placeholder.into();
            } else if known != Some(&false) && typed.value.is_string() {
                *typed.value = MASK.into();
            }
        }
        if !self.keep_credentials {
            redaction::mask_credentials(&mut params);
        }
        if let Some(session) = &self.session {
            session.secrets.mask_json(&mut params);
        }
        params.to_string()
    }

    /// Returns the result as it is recorded, its text, and its pictures.
    fn result<'a>(
        &self,
        outcome: &'a CallOutcome,
    ) -> (String, Option<Cow<'a, str>>, Vec<store::Picture>) {
        if let Some(text) = &self.passed_through {
            let sent: Value = serde_json::from_str(text).unwrap_or_default();
            let (mut stored, pictures) = pass_through::without_pictures(&sent);
            let mut params = self.params.clone();
            let typed = typed_values(&self.tool, &mut params);
            let typed: Vec<&str> = typed.iter().filter_map(|typed| typed.value.as_str()).collect();
            pass_through::mask_typed(&mut stored, &typed, MASK);
            self.mask_value(&mut stored);
            return (raw_json::rewrite(text, &sent, &stored), None, pictures);
        }
        let (text, pictures) = match &outcome.result {
            Ok(Answer::Json(value)) => (Some(self.masked_json(value)), Vec::new()),
            Ok(Answer::Text(text)) => (Some(self.masked_text(text)), Vec::new()),
            Ok(Answer::Image(picture)) => (
                picture.without_picture().map(|without_picture| self.masked_json(&without_picture)),
                vec![picture],
            ),
            Ok(Answer::Pictured { facts: Value::String(text), pictures }) => {
                (Some(self.masked_text(text)), pictures.iter().collect())
            }
            Ok(Answer::Pictured { facts, pictures }) => {
                (Some(self.masked_json(facts)), pictures.iter().collect())
            }
            Ok(Answer::PassedThrough(_)) => (None, Vec::new()),
            Err(error) => {
                let error = serde_json::to_value(error).unwrap_or_default();
                (Some(self.masked_json(&error)), Vec::new())
            }
        };
        let mut content: Vec<ResultPart<'_>> =
            text.iter().map(|text| ResultPart::Text { text }).collect();
        let images = (1..).zip(&pictures);
        content.extend(images.map(|(number, taken)| ResultPart::Image {
            mime_type: &taken.mime_type,
            picture: number,
        }));
        let is_error = outcome.result.is_err();
        // Serializing strings and numbers cannot fail.
        let stored = serde_json::to_string(&StoredResult { content, is_error }).unwrap_or_default();
        (stored, text, pictures.into_iter().filter_map(decoded).collect())
    }

    fn masked_json(&self, value: &Value) -> Cow<'static, str> {
        let mut value = value.clone();
        for field in self.tool.properties.unrecorded {
            if let Some(text) = value.get_mut(*field) {
                *text = MASK.into();
            }
        }
        self.mask_value(&mut value);
        value.to_string().into()
    }

    fn mask_value(&self, value: &mut Value) {
        if !self.keep_credentials {
            redaction::mask_credentials(value);
        }
        if let Some(session) = &self.session {
            session.secrets.mask_json(value);
        }
    }

    /// Returns `text` with the session's secrets masked; `None` if it contains none.
    fn mask(&self, text: &str) -> Option<String> {
        self.session.as_ref()?.secrets.mask(text)
    }

    fn masked_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.mask(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    fn masked_messages(&self, logged: Vec<ConsoleMessage>) -> Vec<Message> {
        let masked = logged.into_iter().map(message).map(|logged| match self.mask(&logged.text) {
            Some(text) => Message { text, ..logged },
            None => logged,
        });
        masked.collect()
    }

    fn masked(&self, text: Arc<str>) -> Arc<str> {
        self.mask(&text).map_or(text, Into::into)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if !self.begun {
            return;
        }
        let session_id = self.session.as_ref().map(|session| session.id.clone());
        if let Some(request) = self.current_request(session_id) {
            let error_message = Some("the call was canceled".to_owned());
            // Not awaited: the caller is gone.
            drop(self.store.answer(request, NewAnswer { error_message, ..NewAnswer::default() }));
        }
    }
}

/// The reason in the error of a call to a session that another server has taken over.
pub(super) const TAKEN_OVER: &str = "sessionTakenOver";

/// Returns the error of a call that is not in the record. `effect`: what happened to the call.
fn not_recorded(reason: &RecordingFailure, effect: &str) -> TroupeError {
    let message = format!("{reason}: {effect}");
    match reason {
        RecordingFailure::Unavailable(_) => TroupeError::new(ErrorCode::ResourceExhausted, message)
            .detail("reason", "storeUnavailable")
            .suggestion("call again later; the server's /health reports the state of its record"),
        RecordingFailure::TakenOver => TroupeError::new(ErrorCode::ServerUnavailable, message)
            .detail("reason", TAKEN_OVER)
            .suggestion("call again: the other server has the session"),
        RecordingFailure::Invalid(_) => TroupeError::new(ErrorCode::InternalError, message),
    }
}

/// Returns the metadata that the client gets instead of the content with `--responses ref`.
/// The content stays in the record.
pub(super) fn reference(outcome: &CallOutcome, recorded: &Summary) -> Value {
    let mut reference = json!({
        "ref_id": outcome.ref_id,
        "session_id": outcome.session_id,
        "status": if outcome.is_success() { "success" } else { "error" },
        "timestamp": iso8601(recorded.at),
        "metadata": {
            "tool": recorded.tool,
            "has_snapshot": recorded.has_snapshot,
            "has_console_logs": recorded.console_messages > 0,
            "console_error_count": recorded.console_errors,
        },
    });
    if let Err(error) = &outcome.result {
        reference["error"] = error.message.clone().into();
    }
    reference
}

/// Counts the console messages of an answer.
fn count(answer: &NewAnswer, is_counted: impl Fn(&&Message) -> bool) -> u64 {
    answer.repeated_console.iter().chain(&answer.console).filter(is_counted).count() as u64
}

/// Masks secrets in texts.
pub(super) trait MaskSecrets {
    fn mask_json(&self, value: &mut Value);

    fn mask_text(&self, text: &mut String) {
        let mut value = Value::String(std::mem::take(text));
        self.mask_json(&mut value);
        if let Value::String(masked) = value {
            *text = masked;
        }
    }
}

impl MaskSecrets for Secrets {
    fn mask_json(&self, value: &mut Value) {
        self.mask_json(value);
    }
}

impl MaskSecrets for Vault {
    fn mask_json(&self, value: &mut Value) {
        self.mask_json(value);
    }
}

/// Masks the secrets that `masks` knows in the result of a call.
pub(super) fn redact(
    result: error::Result<Answer>,
    masks: &impl MaskSecrets,
) -> error::Result<Answer> {
    match result {
        Ok(mut answer) => {
            match &mut answer {
                Answer::Json(value)
                | Answer::Pictured { facts: value, .. }
                | Answer::PassedThrough(value) => {
                    masks.mask_json(value);
                }
                Answer::Text(text) => masks.mask_text(text),
                Answer::Image(_) => {}
            }
            Ok(answer)
        }
        Err(mut error) => {
            masks.mask_text(&mut error.message);
            error.suggestion.iter_mut().for_each(|suggestion| masks.mask_text(suggestion));
            error.details.values_mut().for_each(|value| masks.mask_json(value));
            Err(error)
        }
    }
}

/// Replaces the names of secrets in the parameters of an upstream server's tool by their texts.
pub(super) fn with_secrets(
    tool: &Tool,
    given: Map<String, Value>,
    secrets: &Secrets,
) -> error::Result<Map<String, Value>> {
    let mut params = Value::Object(given);
    for typed in typed_values(tool, &mut params) {
        if let Some(text) = typed.value.as_str() {
            *typed.value = secrets.vault().resolve(text)?.text.into();
        }
    }
    Ok(match params {
        Value::Object(given) => given,
        _ => Map::new(),
    })
}

/// Returns the values in the parameters of `tool` that it types into the page.
fn typed_values<'a>(tool: &Tool, params: &'a mut Value) -> Vec<TypedValue<'a>> {
    if !matches!(tool.run, ToolRunner::Batch) {
        return typed::values(&tool.typed, params);
    }
    // Only the records of the steps have the kind of each field.
    let steps = params.pointer_mut("/steps").and_then(Value::as_array_mut);
    steps.into_iter().flatten().flat_map(typed_in_step).collect()
}

fn typed_in_step(step: &mut Value) -> Vec<TypedValue<'_>> {
    let tool = step["tool"].as_str().and_then(Registry::row);
    let arguments = step.get_mut("arguments");
    tool.zip(arguments).map(|(tool, arguments)| typed_values(tool, arguments)).unwrap_or_default()
}

fn decoded(picture: &EncodedPicture) -> Option<store::Picture> {
    store::Picture::decoded(&picture.mime_type, &picture.data)
}

/// Converts a console message to its form in the record.
pub(super) fn message(message: ConsoleMessage) -> Message {
    Message {
        level: message.level.as_str().to_owned(),
        text: message.text,
        at: message.at,
        url: message.url,
        line: message.line,
        column: message.column,
    }
}
