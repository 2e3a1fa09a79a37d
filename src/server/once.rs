//! One call without a client: `troupe call`.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    session::Connection,
    tools::{Answer, Invocation, Picture, Registry},
};

/// Makes one call against a server of its own, ends it, and gives the result as text.
pub async fn call_once(
    config: Config,
    tool: String,
    arguments: Value,
    stop: CancellationToken,
) -> Result<String> {
    let registry = Registry::open(Arc::new(config))?;
    let connection = Arc::<Connection>::default();
    let invocation = Invocation { whole: true, ..Invocation::new(connection, tool, arguments) };
    let outcome = tokio::select! {
        outcome = registry.call(invocation) => outcome
            .map_err(|unknown| TroupeError::new(ErrorCode::InvalidParameters, unknown.to_string()))
            .and_then(|outcome| outcome.result),
        () = stop.cancelled() => Err(TroupeError::new(ErrorCode::InternalError, "the call was stopped")),
    };
    registry.manager().shutdown().await;
    let pretty = |value: Value| serde_json::to_string_pretty(&value).unwrap_or_else(|_| value.to_string());
    Ok(match outcome? {
        Answer::Json(value) => pretty(value),
        Answer::Text(text) => text,
        Answer::Image(Picture { data, mime_type }) => format!("data:{mime_type};base64,{data}"),
        passed @ Answer::Passed(_) => pretty(passed.into_value()),
        pictured @ Answer::Pictured { .. } => pretty(pictured.into_value()),
    })
}
