//! `troupe call --connect`: one call to a running server.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::link::{self, ConnectTarget, ServerLink};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    server::{CallOutput, failure_in, without_boundaries},
};

/// The protocol version of MCP.
const REVISION: &str = "2025-06-18";

/// Makes one call to the server of `--connect`, and returns the result as text. A call without
/// `sessionId` uses a new session, which ends with the call.
pub async fn call_connected(
    config: &Config,
    tool: &str,
    arguments: Value,
    stop: CancellationToken,
) -> Result<CallOutput> {
    let target = ConnectTarget::new(config).await?;
    let work = async {
        let mut link = link::open_once(&target).await?;
        let answer = call(&mut link, tool, arguments).await;
        link.close().await;
        let answer = answer.map_err(|error| {
            let message = format!("{} disconnected during the call: {error}", target.shown);
            TroupeError::new(ErrorCode::ServerUnavailable, message)
        });
        called(&answer?)
    };
    tokio::select! {
        text = work => text,
        () = stop.cancelled() => Err(TroupeError::new(ErrorCode::InternalError, "the call was canceled")),
    }
}

/// Initializes the connection, calls the tool, and returns the answer.
async fn call(
    link: &mut ServerLink,
    tool: &str,
    arguments: Value,
) -> Result<Value, link::SocketError> {
    let client = json!({"name": "troupe call", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    let initialize =
        json!({"jsonrpc": "2.0", "id": "initialize", "method": "initialize", "params": params});
    link.ask(&[initialize], &mut Vec::new()).await?;
    link.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    let call = json!({"name": tool, "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call});
    let answers = link.ask(&[call], &mut Vec::new()).await?;
    Ok(answers.into_iter().next().unwrap_or_default())
}

/// Returns the result in the form of `troupe call`: JSON, text, or a picture as a `data:` URL.
fn called(answer: &Value) -> Result<CallOutput> {
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(TroupeError::new(ErrorCode::InvalidParameters, message));
    }
    let result = &answer["result"];
    let parts = || result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts().filter_map(|part| part["text"].as_str()).collect();
    let ref_id = result["_meta"]["refId"].as_str().unwrap_or_default();
    let text = without_boundaries(&texts.join("\n"), ref_id);
    if result["isError"] == true {
        let error = serde_json::from_str(&text);
        return Err(error.unwrap_or_else(|_| TroupeError::new(ErrorCode::BrowserError, text)));
    }
    let picture = parts().find(|part| part["type"] == "image");
    let failure = failure_in(&result["structuredContent"]);
    let text = match (&result["structuredContent"], picture) {
        (Value::Null, Some(picture)) if text.is_empty() => {
            let of = |name: &str| picture[name].as_str().unwrap_or_default();
            format!("data:{};base64,{}", of("mimeType"), of("data"))
        }
        (Value::Null, _) => text,
        (structured, picture) => {
            let mut structured = structured.clone();
            if let Some(picture) = picture {
                structured["image"] =
                    json!({"data": picture["data"], "mimeType": picture["mimeType"]});
            }
            serde_json::to_string_pretty(&structured).unwrap_or_default()
        }
    };
    Ok(CallOutput { text, failure })
}
