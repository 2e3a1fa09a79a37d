//! Finds earlier screenshots by their resource URI, or by the `refId` of the call that took them.

use std::{borrow::Cow, sync::Arc};

use super::{
    answer::{AnswerKind, EncodedPicture},
    record::find_record,
    registry::Registry,
    resource_uri::{McpResourceKind, ResourceUri, SCHEME, timestamp},
    tool::ServerCall,
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    session::{Screenshot, Session},
    store,
};

/// A reference of a client to an earlier screenshot.
pub(super) enum EarlierScreenshot {
    Uri(ResourceUri),
    RefId(String),
}

impl EarlierScreenshot {
    /// Reads `text`; `None` if it is neither a resource URI nor a UUID.
    pub fn parse(text: &str) -> Result<Option<Self>> {
        if text.starts_with(SCHEME) {
            let uri = ResourceUri::parse(text).map_err(|error| {
                TroupeError::new(ErrorCode::InvalidParameters, error.to_string())
            })?;
            return Ok(Some(Self::Uri(uri)));
        }
        Ok(uuid::Uuid::parse_str(text).is_ok().then(|| Self::RefId(text.to_owned())))
    }

    /// Returns the picture, base64.
    pub async fn find(self, call: &ServerCall) -> Result<EncodedPicture> {
        let ref_id = match self {
            Self::Uri(ResourceUri { session, kind: McpResourceKind::Screenshot { page, at } }) => {
                call.connection.check_access(&call.manager, &session)?;
                return screenshot_at(&*call.manager.get(&session)?, &page, &at)
                    .map(|taken| picture(&taken));
            }
            Self::Uri(uri) => {
                let problem = format!("`{uri}` is not the URI of a screenshot");
                return Err(TroupeError::new(ErrorCode::InvalidParameters, problem)
                    .suggestion("pass playwright:///screenshot/{sessionId}/{pageId}/{timestamp}"));
            }
            Self::RefId(ref_id) => ref_id,
        };
        if let Some(taken) = screenshot_of(call, None, &ref_id) {
            return Ok(taken);
        }
        let missing = |problem: String| {
            TroupeError::new(ErrorCode::RecordNotFound, problem)
                .suggestion("take one with `screenshot` {path: \"before.png\"}, and pass that path")
        };
        let Some(record) = find_record(call, None, Some(&ref_id)).await? else {
            return Err(missing(format!("no screenshot of the call `{ref_id}` is kept")));
        };
        // The picture of compare_screenshots has boxes drawn on it.
        let takes_screenshots =
            Registry::row(&record.tool).is_some_and(|tool| tool.answer == AnswerKind::Image);
        let recorded = if takes_screenshots { recorded(call, &ref_id).await? } else { Vec::new() };
        let first = recorded.into_iter().next();
        first.ok_or_else(|| {
            missing(format!("the call `{ref_id}` ({}) took no screenshot", record.tool))
        })
    }
}

/// Returns the pictures of the answer of the call `ref_id` in the record.
pub(super) async fn recorded(call: &ServerCall, ref_id: &str) -> Result<Vec<EncodedPicture>> {
    let pictures = call.manager.store().pictures(ref_id).await?;
    Ok(crate::offload::in_place(pictures.iter().map(|picture| picture.data.len()).sum(), || {
        pictures.into_iter().map(encoded).collect()
    }))
}

fn encoded(picture: store::Picture) -> EncodedPicture {
    EncodedPicture { data: picture.encoded(), mime_type: Cow::Owned(picture.mime_type), path: None }
}

/// Returns the screenshot that the call `ref_id` took, if a session that the client can access
/// still has it.
pub(super) fn screenshot_of(
    call: &ServerCall,
    session_id: Option<&str>,
    ref_id: &str,
) -> Option<EncodedPicture> {
    let mut sessions = call.manager.list();
    sessions.retain(|session| {
        session_id.is_none_or(|id| *id == *session.id)
            && call.connection.can_access(&call.manager, &session.id)
    });
    let mut taken = sessions.iter().flat_map(|session| session.screenshots());
    taken.find(|taken| *taken.ref_id == *ref_id).map(|taken| picture(&taken))
}

fn picture(taken: &Screenshot) -> EncodedPicture {
    EncodedPicture {
        data: taken.data.clone(),
        mime_type: Cow::Borrowed(taken.mime_type),
        path: None,
    }
}

/// Returns the screenshot of `page` that was taken at `at`, which may leave out the milliseconds.
pub fn screenshot_at(session: &Session, page: &str, at: &str) -> Result<Arc<Screenshot>> {
    let second = at.strip_suffix('Z').map(|at| format!("{at}."));
    let is_requested = |taken: &Arc<Screenshot>| {
        let name = timestamp(taken.captured_at);
        taken.page_id == page
            && (name == at
                || second.as_ref().is_some_and(|second| name.starts_with(second.as_str())))
    };
    session.screenshots().into_iter().find(is_requested).ok_or_else(|| {
        TroupeError::new(
            ErrorCode::RecordNotFound,
            format!(
                "no screenshot of `{page}` at `{at}` is kept: a session keeps only its latest ones"
            ),
        )
        .suggestion(
            "list the screenshots with resources/list, or take another one with `screenshot`",
        )
    })
}
