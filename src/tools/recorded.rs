//! What the record tells of one call, for faces that list calls by their id.

use super::Registry;
use crate::{error::Result, store::Record};

/// A call in the record.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub ref_id: String,
    pub session_id: Option<String>,
    pub tool: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// None while it runs.
    pub success: Option<bool>,
    pub error_message: Option<String>,
    pub has_snapshot: bool,
    pub console_messages: usize,
    pub console_errors: usize,
}

impl Registry {
    /// The call `ref_id`, where calls are recorded and this one was.
    pub async fn recorded(&self, ref_id: &str) -> Result<Option<Recorded>> {
        let store = self.manager().store();
        if !store.records() {
            return Ok(None);
        }
        let Some(Record { ref_id, session_id, tool, at, answer, .. }) = store.record(ref_id).await? else {
            return Ok(None);
        };
        let console = store.console_of_record(&ref_id, None).await?;
        Ok(Some(Recorded {
            success: answer.as_ref().map(|answer| answer.success),
            has_snapshot: answer.as_ref().is_some_and(|answer| answer.page_snapshot.is_some()),
            error_message: answer.and_then(|answer| answer.error_message),
            console_messages: console.len(),
            console_errors: console.iter().filter(|message| message.level == "error").count(),
            ref_id,
            session_id,
            tool,
            at,
        }))
    }
}
