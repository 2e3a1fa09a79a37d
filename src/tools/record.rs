//! Tools that read the record: the answers of earlier calls, and the console messages of pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    answer::{CallContent, TextAnswer},
    budget,
    recorder::message,
    screenshots,
    tool::{Group, ServerCall, Tool, tool},
};
use crate::{
    engine,
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::check_log,
    session::StoredText,
    store::{CursorOwner, CursorRead, Message, NewestMessages, Record, RecordFilter, Summary},
};

/// Default number of listed calls.
const LISTED: u64 = 50;

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "get_content",
            Group::Record,
            "Read a call's content and images (default: newest page); repeated reads return changes; searchFor filters lines.",
        )
        .read_only()
        .server(get_content),
        tool("get_console_content", Group::Record, "Read the console messages of a call, or of the session.").command("console", &[], "troupe console --level error")
            .read_only()
            .server(get_console_content),
        tool("list_requests", Group::Record, "List the recorded calls, newest first.")
            .read_only()
            .server(list_requests),
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
    reset_cursor: Option<bool>,
}

async fn get_content(call: ServerCall, given: ContentParameters) -> Result<CallContent> {
    let budget = call.manager.config().result_budget;
    let (session_id, ref_id) = (given.session_id.as_deref(), given.ref_id.as_deref());
    let only_text = |text: String| CallContent { text, ..CallContent::default() };
    let Some(record) = find_record(&call, session_id, ref_id).await? else {
        if let Some(taken) =
            ref_id.and_then(|ref_id| screenshots::screenshot_of(&call, session_id, ref_id))
        {
            return Ok(CallContent { pictures: vec![taken], ..CallContent::default() });
        }
        let kept = find_kept(&call, session_id, ref_id)?;
        return offload::in_place(kept.text.len(), || read(&kept, &given, budget)).map(only_text);
    };
    let kept = |text: String| StoredText::of(&record.ref_id, text);
    let bytes = record.bytes();
    if given.offset.is_some()
        || given.search_for.as_deref().is_some_and(|wanted| !wanted.is_empty())
    {
        return offload::in_place(bytes, || read(&kept(record.content()), &given, budget))
            .map(only_text);
    }
    let cursor_of = match (&given.ref_id, &record.session_id) {
        (None, Some(session)) if record.shows_page() => CursorOwner::Session(session.clone()),
        _ => CursorOwner::Record,
    };
    let reset = given.reset_cursor.unwrap_or(false);
    let reading = call.manager.store().read_from_cursor(&record, cursor_of, reset).await?;
    let text = offload::in_place(bytes, || match reading {
        CursorRead::Changes(changes) if changes.chars().count() <= budget => changes,
        // A part of the changes is not useful.
        CursorRead::Changes(_) => budget::part(&kept(record.content()), 0, budget),
        CursorRead::Whole(content) => budget::part(&kept(content), 0, budget),
    });
    // Images of a call that is requested by its id are always returned: they have no cursor.
    let has_images = given.ref_id.is_some() || !text.is_empty();
    let pictures =
        if has_images { screenshots::recorded(&call, &record.ref_id).await? } else { Vec::new() };
    Ok(CallContent { text, pictures })
}

/// Returns a part of a result, or its lines that contain the searched text.
fn read(kept: &StoredText, given: &ContentParameters, budget: usize) -> Result<String> {
    let offset = given.offset.unwrap_or(0);
    let total = kept.text.chars().count();
    if offset > 0 && offset >= total {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("`offset` {offset} is past the end: the result has {total} characters"),
        )
        .detail("total", total)
        .suggestion(
            "pass a smaller `offset`; without `offset`, the result starts at its beginning",
        ));
    }
    Ok(match given.search_for.as_deref().filter(|wanted| !wanted.is_empty()) {
        Some(wanted) => budget::lines_with(kept, wanted, offset, budget),
        None => budget::part(kept, offset, budget),
    })
}

/// Finds a recorded call. A call's id is a capability token, like a session id.
pub(super) async fn find_record(
    call: &ServerCall,
    session_id: Option<&str>,
    ref_id: Option<&str>,
) -> Result<Option<Record>> {
    let store = call.manager.store();
    if !store.records() {
        return Ok(None);
    }
    let found = match ref_id {
        Some(ref_id) => store.record(ref_id).await?,
        None => {
            let sessions =
                session_id.map_or_else(|| call.connection.known(), |id| vec![id.to_owned()]);
            // Calls that show no page, such as session_resume, are skipped, so that the page's
            // changes are found.
            match store.newest_record(sessions.clone(), true).await? {
                Some(page) => Some(page),
                None => store.newest_record(sessions, false).await?,
            }
        }
    };
    let found = found.filter(|record| {
        let of = record.session_id.as_deref();
        session_id.is_none_or(|id| of == Some(id))
            && of.is_none_or(|id| call.connection.can_access(&call.manager, id))
    });
    match &found {
        Some(Record { answer: None, ref_id, tool, .. }) => Err(TroupeError::new(
            ErrorCode::RecordNotFound,
            format!("the call `{ref_id}` ({tool}) has not finished"),
        )
        .detail("reason", "running")
        .suggestion("call again when it has finished; list_requests shows its status")),
        _ => Ok(found),
    }
}

/// Finds a result that is stored without a record: in the named session, or in those of this client
/// and its other calls.
fn find_kept(
    call: &ServerCall,
    session_id: Option<&str>,
    ref_id: Option<&str>,
) -> Result<StoredText> {
    let mut found = match session_id {
        Some(id) => {
            call.connection.check_access(&call.manager, id)?;
            vec![call.manager.get(id)?.results.get(ref_id)]
        }
        None => {
            let sessions = call.manager.list();
            let known = sessions.iter().filter(|session| call.connection.knows(&session.id));
            known.map(|session| session.results.get(ref_id)).collect()
        }
    };
    found.push(call.connection.results.get(ref_id));
    found.into_iter().flatten().max_by_key(|kept| kept.at).ok_or_else(|| {
        let what = ref_id.map_or("no call".to_owned(), |id| format!("no call `{id}`"));
        let (problem, suggestion) = if call.manager.store().records() {
            ("is in the record", "list the recorded calls with list_requests")
        } else {
            (
                "is kept: without a record, only the latest results over the budget are",
                "repeat the call whose result you need",
            )
        };
        TroupeError::new(ErrorCode::RecordNotFound, format!("{what} {problem}"))
            .suggestion(suggestion)
    })
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ConsoleLevelParameter {
    Debug,
    Info,
    Warn,
    Error,
    // An empty string selects all levels.
    #[serde(rename = "")]
    All,
}

impl ConsoleLevelParameter {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Debug => Some("debug"),
            Self::Info => Some("info"),
            Self::Warn => Some("warn"),
            Self::Error => Some("error"),
            Self::All => None,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConsoleParameters {
    session_id: Option<String>,
    ref_id: Option<String>,
    level: Option<ConsoleLevelParameter>,
}

async fn get_console_content(call: ServerCall, given: ConsoleParameters) -> Result<TextAnswer> {
    let store = call.manager.store();
    let level = given.level.and_then(ConsoleLevelParameter::name);
    let budget = call.manager.config().result_budget;
    let found = match &given.ref_id {
        Some(ref_id) => {
            let record = find_record(&call, given.session_id.as_deref(), Some(ref_id)).await?;
            let record = record.ok_or_else(|| no_record(ref_id, store.records()))?;
            store.console_of_record(&record.ref_id, level, budget).await?
        }
        None => session_console(&call, given.session_id.as_deref(), level, budget).await?,
    };
    if found.messages.is_empty() {
        // No messages differs from a browser that cannot report messages.
        check_log(call.manager.config().browser, engine::Log::Console)?;
    }
    Ok(TextAnswer(newest_that_fit(&found, budget)))
}

fn no_record(ref_id: &str, records: bool) -> TroupeError {
    let error =
        TroupeError::new(ErrorCode::RecordNotFound, format!("no call `{ref_id}` is in the record"));
    if records {
        return error.suggestion("list the recorded calls with list_requests");
    }
    error.suggestion("omit refId to read the latest messages: nothing is recorded (--store none)")
}

/// Returns the console messages of a session's pages, also since its last call: the newest that fit
/// into `budget` characters.
async fn session_console(
    call: &ServerCall,
    session_id: Option<&str>,
    level: Option<&str>,
    budget: usize,
) -> Result<NewestMessages> {
    let store = call.manager.store();
    let sessions = match session_id {
        Some(id) => vec![id.to_owned()],
        None => call.connection.known(),
    };
    if let Some(id) = session_id {
        check_session(call, id).await?;
    }
    let NewestMessages { mut messages, mut earlier } = NewestMessages::default();
    for id in &sessions {
        if store.records() {
            let found = store.console_of_session(id, level, budget).await?;
            messages.extend(found.messages);
            earlier += found.earlier;
        }
        if let Ok(session) = call.manager.get(id) {
            let console = session.console();
            let logged = if store.records() { console.untaken() } else { console.all() };
            messages.extend(
                logged
                    .into_iter()
                    .map(message)
                    .filter(|message| level.is_none_or(|level| level == message.level)),
            );
        }
    }
    messages.sort_by_key(|message| message.at);
    Ok(NewestMessages { messages, earlier })
}

/// Returns the newest messages that fit into `budget` characters, one a line, in their order.
fn newest_that_fit(found: &NewestMessages, budget: usize) -> String {
    let lines: Vec<String> = found.messages.iter().map(Message::to_string).collect();
    let mut remaining = budget.saturating_sub(100);
    let fit = lines.iter().rev().take_while(|line| {
        let length = line.chars().count() + 1;
        let fits = length <= remaining;
        remaining = remaining.saturating_sub(length);
        fits
    });
    let from = lines.len() - fit.count();
    let shown = lines[from..].join("\n");
    match found.earlier + from {
        0 => shown,
        left_out => format!("… {left_out} earlier messages; pass `level` to filter\n{shown}"),
    }
}

/// Fails if the session never existed. Ended sessions can be read.
async fn check_session(call: &ServerCall, id: &str) -> Result<()> {
    call.connection.check_access(&call.manager, id)?;
    let Err(unknown) = call.manager.get(id) else { return Ok(()) };
    call.manager.store().find_session(id).await?.map(drop).ok_or(unknown)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListRequestsParameters {
    session_id: Option<String>,
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct RequestList {
    requests: Vec<RecordedRequest>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct RecordedRequest {
    ref_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    tool: String,
    /// `success`, `error`, or `running`.
    status: &'static str,
    /// Milliseconds since 1970.
    timestamp: u64,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<u64>,
    has_snapshot: bool,
    has_console_logs: bool,
    console_error_count: u64,
}

impl From<Summary> for RecordedRequest {
    fn from(summary: Summary) -> Self {
        Self {
            ref_id: summary.ref_id,
            session_id: summary.session_id,
            tool: summary.tool,
            status: match summary.success {
                Some(true) => "success",
                Some(false) => "error",
                None => "running",
            },
            timestamp: summary.at,
            duration: summary.answered_at.map(|answered| answered.saturating_sub(summary.at)),
            has_snapshot: summary.has_snapshot,
            has_console_logs: summary.console_messages > 0,
            console_error_count: summary.console_errors,
        }
    }
}

async fn list_requests(call: ServerCall, given: ListRequestsParameters) -> Result<RequestList> {
    let filter = match given.session_id {
        Some(id) => {
            check_session(&call, &id).await?;
            RecordFilter {
                sessions: vec![id],
                connection: None,
                limit: given.limit.unwrap_or(LISTED),
            }
        }
        None => RecordFilter {
            sessions: call.connection.known(),
            connection: Some(call.connection.id().to_string()),
            limit: given.limit.unwrap_or(LISTED),
        },
    };
    let found = call.manager.store().requests(filter).await?;
    let newest_first = found.into_iter().map(RecordedRequest::from);
    let requests = budget::entries_within(newest_first, call.manager.config().result_budget);
    Ok(RequestList { requests })
}
