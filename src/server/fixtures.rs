//! The tools, resources and prompts that the official conformance suite requires (`fixtures.json`
//! lists them), never in a release. They use the same handler and transports as the product's own.
//! They are offered if the environment has `CONFORMANCE_FIXTURES`.
#![expect(deprecated, reason = "the suite tests features that SEP-2577 removes")]

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, LazyLock},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientResult,
        ContentBlock, CreateMessageRequest, ElicitRequest, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, InputRequests, InputRequiredResult, InputResponses,
        LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, Prompt,
        PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
        ResourceTemplate, ResultType, Role, ServerRequest, Tool,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::elicitation::is_stateless;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// An empty sound file.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
const TEMPLATE: &str = "test://template/{id}/data";
/// The suite requires that notifications arrive one after another.
const PAUSE: Duration = Duration::from_millis(50);

static FIXTURES: LazyLock<Option<Value>> = LazyLock::new(|| {
    std::env::var_os("CONFORMANCE_FIXTURES")?;
    let text = include_str!("fixtures.json").replace("\"PNG\"", &format!("\"{PNG}\""));
    serde_json::from_str(&text.replace("\"WAV\"", &format!("\"{WAV}\""))).ok()
});

fn all(kind: &str) -> &'static [Value] {
    FIXTURES.as_ref().and_then(|fixtures| fixtures[kind].as_array()).map_or(&[], Vec::as_slice)
}

fn find(kind: &str, key: &str, name: &str) -> Option<&'static Value> {
    all(kind).iter().find(|fixture| fixture[key] == name)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Converts a part of the table into a type of the protocol.
fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorData> {
    serde_json::from_value(value.clone())
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

pub(super) fn tools() -> Vec<Tool> {
    let tools = all("tools").iter().map(|tool| {
        let schema = tool["schema"].as_object().cloned();
        let schema =
            schema.unwrap_or_else(|| Map::from_iter([("type".to_owned(), json!("object"))]));
        Tool::new(text(&tool["name"]), "For the conformance suite", Arc::new(schema))
    });
    tools.collect()
}

pub(super) fn resources() -> Vec<Resource> {
    let resources = all("resources").iter().map(|resource| {
        let uri = text(&resource["uri"]);
        Resource::new(uri, uri).with_mime_type(text(&resource["mimeType"]))
    });
    resources.collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = FIXTURES.as_ref().map(|_| ResourceTemplate::new(TEMPLATE, "template"));
    template.map(|template| template.with_mime_type("application/json")).into_iter().collect()
}

pub(super) fn prompts() -> Vec<Prompt> {
    let prompts = all("prompts").iter().map(|prompt| {
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.map(|name| PromptArgument::new(text(name)).with_required(true));
        Prompt::new(
            text(&prompt["name"]),
            Some("For the conformance suite"),
            Some(arguments.collect()),
        )
    });
    prompts.collect()
}

pub(super) fn is_prompt(name: &str) -> bool {
    find("prompts", "name", name).is_some()
}

pub(super) fn is_resource(uri: &str) -> bool {
    find("resources", "uri", uri).is_some()
}

pub(super) fn read(uri: &str) -> Option<Result<ReadResourceResult, ErrorData>> {
    if let Some(resource) = find("resources", "uri", uri) {
        return Some(
            typed::<ResourceContents>(resource)
                .map(|contents| ReadResourceResult::new(vec![contents])),
        );
    }
    let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
    FIXTURES.as_ref()?;
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    let contents = ResourceContents::text(data.to_string(), uri).with_mime_type("application/json");
    Some(Ok(ReadResourceResult::new(vec![contents])))
}

pub(super) fn prompt(
    request: &GetPromptRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    let fixture = find("prompts", "name", &request.name)?;
    Some((|| {
        if let Some(needed) =
            next_round(fixture, &request.input_responses, &request.request_state, context)?
        {
            return Ok(needed.into());
        }
        let mut messages = fixture["messages"].to_string();
        for (name, value) in request.arguments.iter().flatten() {
            messages = messages.replace(&format!("{{{name}}}"), text(value));
        }
        let messages: Value = serde_json::from_str(&messages).unwrap_or_default();
        let messages = messages
            .as_array()
            .into_iter()
            .flatten()
            .map(|content| Ok(PromptMessage::new(Role::User, typed::<ContentBlock>(content)?)));
        Ok(GetPromptResult::new(messages.collect::<Result<_, ErrorData>>()?).into())
    })())
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let fixture = find("tools", "name", &request.name)?;
    Some(run(fixture, request, context).await)
}

async fn run(
    fixture: &Value,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if !fixture["result"].is_null() {
        let mut result: CallToolResult = typed(&fixture["result"])?;
        result.result_type = Some(ResultType::COMPLETE);
        return Ok(result.into());
    }
    let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
    let said = |text: String| Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
    if !fixture["rounds"].is_null() {
        if let Some(needed) =
            next_round(fixture, &request.input_responses, &request.request_state, context)?
        {
            return Ok(needed.into());
        }
        let responses = json!(request.input_responses);
        let name = text(&responses["user_name"]["content"]["name"]);
        return said(format!("Hello, {name}! state-ok, with {responses}"));
    }
    if let Some(lines) = fixture["log"].as_array() {
        if !is_stateless(context) || context.meta.log_level().is_some() {
            for line in lines {
                let message =
                    LoggingMessageNotificationParam::new(LoggingLevel::Info, line.clone());
                let _ = context.peer.notify_logging_message(message).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
        return said("Logged".to_owned());
    }
    if let Some(steps) = fixture["progress"].as_array() {
        for step in steps.iter().filter_map(Value::as_f64) {
            if let Some(token) = context.meta.get_progress_token() {
                let step = ProgressNotificationParam::new(token, step).with_total(100.0);
                let _ = context.peer.notify_progress(step).await;
            }
            tokio::time::sleep(PAUSE).await;
        }
        return said("Done".to_owned());
    }
    if !fixture["needs"].is_null() {
        if declares(context, text(&fixture["needs"])) {
            return said("It is there".to_owned());
        }
        let needed: ClientCapabilities = typed(&json!({text(&fixture["needs"]): {}}))?;
        return Err(ErrorData::missing_required_client_capability(needed));
    }
    let asked = if fixture["sample"] == true {
        let message =
            json!({"role": "user", "content": {"type": "text", "text": arguments["prompt"]}});
        let params = json!({"messages": [message], "maxTokens": 100});
        ServerRequest::CreateMessageRequest(CreateMessageRequest::new(typed(&params)?))
    } else {
        let message = arguments["message"].as_str().unwrap_or("Please answer");
        let params =
            json!({"mode": "form", "message": message, "requestedSchema": fixture["elicit"]});
        ServerRequest::ElicitRequest(ElicitRequest::new(typed(&params)?))
    };
    match context.peer.send_request(asked).await {
        Ok(ClientResult::CreateMessageResult(result)) => {
            said(format!("LLM response: {}", json!(result)))
        }
        Ok(ClientResult::ElicitResult(result)) => {
            let (action, content) = (json!(result.action), json!(result.content));
            said(format!("Elicitation completed: action={}, content={content}", text(&action)))
        }
        Ok(_) => Err(ErrorData::internal_error("the answer is of an unexpected type", None)),
        Err(error) => Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into()),
    }
}

fn declares(context: &RequestContext<RoleServer>, capability: &str) -> bool {
    !json!(context.client_capabilities())[capability].is_null()
}

/// Returns the next request for input of a call that takes several rounds. Returns `None` when no
/// input is missing.
fn next_round(
    fixture: &Value,
    responses: &Option<InputResponses>,
    state: &Option<String>,
    context: &RequestContext<RoleServer>,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let Some(rounds) = fixture["rounds"].as_array() else { return Ok(None) };
    let name = text(&fixture["name"]);
    let mut round = match state {
        Some(state) => {
            (0..rounds.len()).find(|round| sealed(name, *round) == *state).ok_or_else(|| {
                ErrorData::invalid_params("the request state is not from this server", None)
            })?
        }
        None => 0,
    };
    let is_asked = |request: &Value| {
        let capability = text(&request["method"]).split('/').next().unwrap_or_default();
        fixture["declared"].is_null() || declares(context, capability)
    };
    let requests = |round: usize| -> Map<String, Value> {
        let asked =
            FIXTURES.as_ref().map(|fixtures| fixtures["rounds"][text(&rounds[round])].clone());
        let mut asked = asked.and_then(|asked| asked.as_object().cloned()).unwrap_or_default();
        asked.retain(|_, request| is_asked(request));
        asked
    };
    let given = |key: &String| {
        responses.as_ref().and_then(|responses| responses.get(key)).is_some_and(Value::is_object)
    };
    if responses.is_some() && requests(round).keys().all(given) {
        round += 1;
    }
    if round == rounds.len() {
        return Ok(None);
    }
    let asked: InputRequests = typed(&Value::Object(requests(round)))?;
    let state = (fixture["state"] == true).then(|| sealed(name, round));
    Ok(Some(InputRequiredResult::new(Some(asked), state)))
}

/// Returns the request state of a round. It contains a hash with a random key of this process, so
/// that a client cannot forge it.
fn sealed(name: &str, round: usize) -> String {
    static SEAL: LazyLock<uuid::Uuid> = LazyLock::new(uuid::Uuid::new_v4);
    let mut hasher = DefaultHasher::new();
    (&*SEAL, name, round).hash(&mut hasher);
    format!("{round}-{:016x}", hasher.finish())
}
