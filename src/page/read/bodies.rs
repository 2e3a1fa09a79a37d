//! Reads the data of requests and the bodies of responses.

use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::{Page, state::LoggedRequest},
};

impl Page {
    /// Returns the data of the request `number`. `None` if there is none, or if the configuration
    /// does not keep the details of requests. Fails if the log does not have the request.
    pub async fn post_data(&self, number: usize) -> Result<Option<Vec<u8>>> {
        let entry = self.logged(number)?;
        let known = entry.request_details.as_ref().and_then(|details| details.post_data.clone());
        match entry.id.filter(|_| known.is_none() && entry.request_details.is_some()) {
            Some(id) => self.guarded(self.engine.request_data(&id)).await,
            None => Ok(known),
        }
    }

    /// Returns the body of the response to the request `number`. `None` if there is no body, or if
    /// the browser has removed it: it keeps bodies only if the configuration keeps the details of
    /// requests. Fails if the log does not have the request.
    pub async fn response_body(&self, number: usize) -> Result<Option<Vec<u8>>> {
        let LoggedRequest { id, frame, .. } = self.logged(number)?;
        // A redirect has no body.
        let Some(id) = id else { return Ok(None) };
        self.guarded(self.engine.response_body(frame.as_ref(), &id)).await
    }

    fn logged(&self, number: usize) -> Result<LoggedRequest> {
        self.state.read_log(|log| log.entry(number).cloned()).ok_or_else(|| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the request log of page `{}` has no request {number}", self.id),
            )
            .suggestion("get the numbers with get_request_log")
        })
    }
}
