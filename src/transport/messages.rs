//! Parses JSON that a client has sent into messages, or into the answer to invalid input. Lines,
//! WebSocket frames and HTTP bodies are treated the same way.

use rmcp::{
    RoleServer,
    model::{
        CallToolResult, ClientRequest, ContentBlock, JsonRpcMessage, ServerJsonRpcMessage,
        ServerResult,
    },
    service::RxJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    offload::{self, json_size},
    server::TurnSlot,
    session::Connection,
};

pub(super) type ClientMessage = RxJsonRpcMessage<RoleServer>;

/// Parses the messages in `text` (2025-03-26 allows several). Returns the error response for each
/// invalid one. Calls get their turns in `connection`.
pub(super) fn read(text: &[u8], connection: &Connection) -> Vec<Result<ClientMessage, Value>> {
    offload::in_place(text.len(), || read_here(text, connection))
}

fn read_here(text: &[u8], connection: &Connection) -> Vec<Result<ClientMessage, Value>> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii();
    if text.first() == Some(&b'[')
        && let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(text)
        && !batch.is_empty()
    {
        return batch
            .iter()
            .filter_map(|message| read_one(message.get().as_bytes(), connection))
            .collect();
    }
    read_one(text, connection).into_iter().collect()
}

/// Parses one message, or returns the error response; `None` if it is empty.
fn read_one(text: &[u8], connection: &Connection) -> Option<Result<ClientMessage, Value>> {
    if text.is_empty() {
        return None;
    }
    match serde_json::from_slice::<ClientMessage>(text) {
        Ok(mut message) => {
            take_turn(&mut message, connection);
            Some(Ok(message))
        }
        Err(error) => refuse(text, &error).map(Err),
    }
}

/// Assigns a call its turn among the calls of its client.
pub(super) fn take_turn(message: &mut ClientMessage, connection: &Connection) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::CallToolRequest(call) = &mut request.request
    {
        call.extensions.insert(TurnSlot::new(connection.arrive()));
    }
}

/// Returns the error response to an invalid message; `None` if its sender expects no response.
fn refuse(text: &[u8], error: &serde_json::Error) -> Option<Value> {
    let Ok(raw) = serde_json::from_slice::<RawMessage<'_>>(text) else {
        if serde_json::from_slice::<&RawValue>(text).is_ok() {
            return Some(refusal(Value::Null, -32600, "not a JSON-RPC request"));
        }
        return Some(refusal(Value::Null, -32700, &format!("the message is not JSON: {error}")));
    };
    let id = raw.id.and_then(|id| serde_json::from_str(id.get()).ok()).unwrap_or(Value::Null);
    let valid_id = id.is_string() || id.is_i64() || id.is_u64();
    if serde_json::from_slice::<Value>(text).is_err() {
        // Valid JSON syntax, but with an escape that is not a character (`\ud800` alone).
        return Some(refusal(id, -32700, &format!("the message is not valid JSON: {error}")));
    }
    if raw.method.is_none() || !valid_id {
        // Unknown notifications and responses are ignored, as JSON-RPC requires.
        if raw.id.is_none() && raw.method.is_some() || raw.result.is_some() || raw.error.is_some() {
            return None;
        }
        return Some(refusal(
            Value::Null,
            -32600,
            "not a JSON-RPC request: `method` or `id` is missing or invalid",
        ));
    }
    Some(refusal(id, -32600, &format!("not a request of this protocol: {error}")))
}

/// The parts of a message as raw JSON.
#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Returns the JSON of a message.
pub(super) fn write(message: &ServerJsonRpcMessage) -> serde_json::Result<String> {
    offload::in_place(size(message), || serde_json::to_string(message))
}

/// Returns the approximate size of a message as JSON, in bytes. Does not serialize results of
/// calls, which can be large.
pub(super) fn size(message: &ServerJsonRpcMessage) -> usize {
    /// Bytes of the fields other than the content.
    const FRAME: usize = 256;
    let content = match message {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::CallToolResult(CallToolResult {
                content, structured_content, ..
            }) => {
                let parts = content.iter().map(|part| match part {
                    ContentBlock::Text(text) => Some(text.text.len()),
                    ContentBlock::Image(image) => Some(image.data.len()),
                    _ => None,
                });
                let structured = structured_content.as_ref().map_or(0, json_size);
                parts.sum::<Option<usize>>().map(|content| content + structured)
            }
            _ => None,
        },
        _ => None,
    };
    match content {
        Some(content) => FRAME + content,
        None => serde_json::to_vec(message).map_or(0, |json| json.len()),
    }
}

/// Returns a JSON-RPC error response.
pub(super) fn refusal(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(text: &str) -> Option<Value> {
        read(text.as_bytes(), &Connection::default()).into_iter().find_map(Result::err)
    }

    #[test]
    fn invalid_messages_get_an_error_response() {
        for (text, code, id) in [
            ("{", -32700, Value::Null),
            ("hello", -32700, Value::Null),
            (
                r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud800"}}"#,
                -32700,
                json!(7),
            ),
            ("[]", -32600, Value::Null),
            ("17", -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
        ] {
            let answer = answer(text).unwrap_or_else(|| panic!("{text} was not answered"));
            assert_eq!(answer["error"]["code"], code, "{text}: {answer}");
            assert_eq!(answer["id"], id, "{text}: {answer}");
        }
        assert_eq!(answer(""), None);
        assert_eq!(answer(r#"{"jsonrpc":"2.0","method":"window/logMessage"}"#), None);
    }

    #[test]
    fn each_message_of_a_batch_is_parsed() {
        let text =
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, {"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
        let messages = read(text, &Connection::default());
        assert!(matches!(messages[..], [Ok(_), Err(_), Ok(_)]), "{messages:?}");
    }

    /// JSON in the form of a message, with arbitrary values in its fields.
    fn almost_a_message() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
            Just(json!("2.0")),
            Just(json!("tools/call")),
            Just(json!("initialize")),
        ];
        let value = leaf.prop_recursive(3, 24, 6, |inner| {
            let key = prop_oneof![
                Just("id".to_owned()),
                Just("method".to_owned()),
                Just("params".to_owned()),
                Just("jsonrpc".to_owned()),
                Just("_meta".to_owned()),
                Just("name".to_owned()),
                Just("arguments".to_owned()),
                ".{0,6}",
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        });
        // Truncated, or with an arbitrary byte inside.
        (value, any::<proptest::sample::Index>(), any::<Option<u8>>()).prop_map(
            |(value, at, byte)| {
                let mut text = value.to_string().into_bytes();
                let at = at.index(text.len() + 1);
                match byte {
                    Some(byte) if byte % 3 == 0 => text.truncate(at),
                    Some(byte) => text.insert(at, byte),
                    None => {}
                }
                text
            },
        )
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&text, &Connection::default());
        }

        #[test]
        fn no_malformed_message_causes_a_panic(text in almost_a_message()) {
            for message in read(&text, &Connection::default()) {
                if let Err(answer) = message {
                    prop_assert!(answer["error"]["code"].is_i64(), "{}", answer);
                }
            }
        }
    }
}
