//! Tools that read what earlier calls have answered.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    answer::Text,
    budget,
    tool::{Group, ServerCall, Tool, tool},
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    session::KeptResult,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "get_content",
            Group::Record,
            "Read on in a result that was cut, or search it. Without refId, the last one.",
        )
        .read_only()
        .server(get_content),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ContentParameters {
    session_id: Option<String>,
    ref_id: Option<String>,
    /// Characters
    offset: Option<usize>,
    search_for: Option<String>,
}

async fn get_content(call: ServerCall, given: ContentParameters) -> Result<Text> {
    let kept = find(&call, given.session_id.as_deref(), given.ref_id.as_deref())?;
    let offset = given.offset.unwrap_or(0);
    let total = kept.text.chars().count();
    if offset >= total {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("`offset` {offset} is past the end: the result has {total} characters"),
        )
        .detail("total", total));
    }
    let budget = call.manager.config().result_budget;
    Ok(Text(match given.search_for.filter(|wanted| !wanted.is_empty()) {
        Some(wanted) => budget::places(&kept, &wanted, offset, budget),
        None => budget::part(&kept, offset, budget),
    }))
}

/// In the session that is named, or in those of this client and its other calls.
fn find(call: &ServerCall, session_id: Option<&str>, ref_id: Option<&str>) -> Result<KeptResult> {
    let mut found = match session_id {
        Some(id) => vec![call.manager.get(id)?.results.get(ref_id)],
        None => {
            let sessions = call.manager.list();
            let known = sessions.iter().filter(|session| call.connection.knows(&session.id));
            known.map(|session| session.results.get(ref_id)).collect()
        }
    };
    found.push(call.connection.results.get(ref_id));
    found.into_iter().flatten().max_by_key(|kept| kept.at).ok_or_else(|| {
        let what = ref_id.map_or("no result".to_owned(), |id| format!("no result `{id}`"));
        TroupeError::new(
            ErrorCode::RecordNotFound,
            format!("{what} is kept: only the last ones of a session that were over the result budget are"),
        )
        .suggestion("repeat the call that gave it")
    })
}
