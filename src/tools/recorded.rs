//! One recorded call, for interfaces that list calls by their id.

use super::Registry;
use crate::{error::Result, store::Summary};

/// A call in the record.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub call: Summary,
    pub error_message: Option<String>,
}

impl Registry {
    /// Returns the call `ref_id`; `None` if it is not recorded.
    pub async fn recorded(&self, ref_id: &str) -> Result<Option<Recorded>> {
        let store = self.manager().store();
        if !store.records() {
            return Ok(None);
        }
        let found = store.summary(ref_id).await?;
        Ok(found.map(|(call, error_message)| Recorded { call, error_message }))
    }
}
