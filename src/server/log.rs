//! Log messages for a client (`notifications/message`): the outcomes of its own calls. A client
//! gets none until it sets a level.
#![expect(
    deprecated,
    reason = "SEP-2577 removes logging from a later revision; the revisions that the server supports have it"
)]

use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::tools::CallOutcome;

/// The level that the client of a connection has set.
#[derive(Default)]
pub(super) struct ClientLogLevel(Mutex<Option<LoggingLevel>>);

impl ClientLogLevel {
    /// Returns the level with this name.
    pub fn named(name: &str) -> Option<Self> {
        let level = serde_json::from_value(name.into()).ok()?;
        Some(Self(Mutex::new(Some(level))))
    }

    pub fn set(&self, level: LoggingLevel) {
        *self.0.lock() = Some(level);
    }

    /// Returns the level for one request: its own (2026-07-28), or that of the connection.
    fn of(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        context.meta.log_level().or_else(|| *self.0.lock())
    }

    /// Notifies the client of the outcome of a call.
    pub async fn log_call(
        &self,
        context: &RequestContext<RoleServer>,
        tool: &str,
        outcome: &CallOutcome,
        millis: u128,
    ) {
        let Some(minimum) = self.of(context) else { return };
        let level = if outcome.is_success() { LoggingLevel::Info } else { LoggingLevel::Warning };
        if severity(level) < severity(minimum) {
            return;
        }
        let mut data = json!({
            "tool": tool, "refId": outcome.ref_id, "sessionId": outcome.session_id, "pageId": outcome.page_id,
            "milliseconds": u64::try_from(millis).unwrap_or(u64::MAX),
        });
        if let Err(error) = &outcome.result {
            data["errorCode"] = json!(error.code);
            data["message"] = Value::from(error.message.clone());
        }
        let message = LoggingMessageNotificationParam::new(level, data).with_logger("troupe.calls");
        let _ = context.peer.notify_logging_message(message).await;
    }
}

/// Returns a number that increases with the severity. RFC 5424 numbers the levels in reverse.
fn severity(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => 1,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => 3,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
