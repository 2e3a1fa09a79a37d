//! What the record tells of one call, for faces that list calls by their id.

use super::Registry;
use crate::{
    error::Result,
    store::{Record, Summary},
};

/// A call in the record.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub call: Summary,
    pub error_message: Option<String>,
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
        let errors = console.iter().filter(|message| message.level == "error").count();
        let call = Summary {
            success: answer.as_ref().map(|answer| answer.success),
            answered_at: answer.as_ref().map(|answer| answer.at),
            has_snapshot: answer.as_ref().is_some_and(|answer| answer.page_snapshot.is_some()),
            console_messages: console.len() as u64,
            console_errors: errors as u64,
            ref_id,
            session_id,
            tool,
            at,
        };
        Ok(Some(Recorded { call, error_message: answer.and_then(|answer| answer.error_message) }))
    }
}
