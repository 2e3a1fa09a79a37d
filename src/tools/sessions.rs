//! Tools that create, end and list sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::{
    answer::{ChangedAnswer, LargeAnswer, changed},
    tool::{Group, LifecycleEffect, ServerCall, SessionCall, Tool, tool},
};
use crate::{
    config::{Transport, Viewport},
    engine::network::Cookie,
    error::{ErrorCode, Result, TroupeError},
    files::{FileStore, IfExists, NameBase},
    offload,
    page::normalize_url,
    session::{
        CookieParameter, CreateOptions, PageInfo, SessionInfo, StorageState, StorageStateParameter,
    },
    store::SessionState,
    upstream::ReplayReport,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "create_session",
            Group::Session,
            "Open an isolated browser session, one for each task or identity.",
        )
        .harmless()
        .lifecycle(LifecycleEffect::Create)
        .alias("create_new_session", &[("sessionId", "session_id")])
        .server(create),
        tool("close_session", Group::Session, "Close a session when its task is done.")
            .command("close", &[], "troupe close")
            .destructive()
            .harmless()
            .lifecycle(LifecycleEffect::Close)
            .server(close),
        tool(
            "list_sessions",
            Group::Session,
            "List your sessions, and the ten latest ended ones that can be resumed.",
        )
        .command("list", &[], "troupe list")
        .read_only()
        .not_replayed()
        .server(list),
        tool(
            "session_resume",
            Group::Session,
            "Restore an expired session, or one whose server stopped: logins, pages, forms, refs.",
        )
        .harmless()
        .lifecycle(LifecycleEffect::Resume)
        .server(resume),
        tool(
            "save_state",
            Group::Session,
            "Get cookies and storage as Playwright's storageState, or write them to a new file.",
        )
        .command("save", &["path"], "troupe save login.json")
        .files(&["path"])
        .harmless()
        .not_replayed()
        .session(save_state),
        tool(
            "restore_state",
            Group::Session,
            "Replace cookies and storage with a saved state, or that of a file.",
        )
        .command("restore", &["state"], "troupe restore login.json")
        .files(&["state"])
        .destructive()
        .session(restore_state),
        tool(
            "get_cookies",
            Group::Session,
            "Read cookies, including HttpOnly: all, or those sent to given URLs.",
        )
        .command("cookies", &["urls"], "troupe cookies")
        .read_only()
        .session(get_cookies),
        tool(
            "set_cookies",
            Group::Session,
            "Set cookies, each with a url or a domain; an expiry in the past deletes.",
        )
        .session(set_cookies),
        tool(
            "set_viewport",
            Group::Session,
            "Resize the session's pages, for example to see the layout on a phone.",
        )
        .command("resize", &["width", "height"], "troupe resize 390 844")
        .session(set_viewport),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreateParameters {
    user_agent: Option<String>,
    viewport: Option<ViewportParameters>,
    /// BCP 47, such as de-DE
    locale: Option<String>,
    /// IANA, such as Europe/Berlin
    timezone: Option<String>,
    /// From save_state or Playwright, or its file
    storage_state: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct ViewportParameters {
    #[schemars(range(min = 1, max = 10000))]
    width: u32,
    #[schemars(range(min = 1, max = 10000))]
    height: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreateAnswer {
    session_id: String,
    /// Milliseconds since 1970.
    expires_at: u64,
    message: String,
}

const CREATED: &str =
    "The session is open. Pass its sessionId in later calls, and close it when done.";
/// What is not isolated in the user's own browser.
const SHARED: &str = " It is not isolated: its pages are tabs of the user's own browser, and share \
    cookies, logins, storage, cache and permissions with the user's tabs and with other sessions.";
const SHARED_PROFILE: &str = " It is not isolated: its pages are tabs of the profile in \
    --user-data-dir, and share cookies, logins, storage, cache and permissions with the other \
    sessions.";
const SHARED_REMOTE: &str = " It is not isolated: its pages are tabs of the default context of a \
    remote browser, and share cookies, logins, storage, cache and permissions with its other \
    sessions.";

async fn create(call: ServerCall, given: CreateParameters) -> Result<CreateAnswer> {
    let config = call.manager.config();
    let other = given.viewport.is_some() || given.locale.is_some() || given.timezone.is_some();
    if config.upstream.command.is_some() && (other || given.user_agent.is_some()) {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`viewport`, `locale`, `timezone` and `userAgent` cannot be set for an upstream server: its own command sets them for all sessions",
        )
        .suggestion("omit them: only storageState can be passed"));
    }
    let mut context = config.context.clone();
    if let Some(ViewportParameters { width, height }) = given.viewport {
        context.viewport = Some(Viewport { width, height });
    }
    context.user_agent = given.user_agent.or(context.user_agent);
    context.locale = given.locale.or(context.locale);
    context.timezone = given.timezone.or(context.timezone);
    let storage_state = match given.storage_state {
        Some(given) => Some(storage_state(call.manager.files(), given).await?),
        None => None,
    };
    let options = CreateOptions { context: Some(context), storage_state };
    let session = call.manager.create(&call.connection.queue_key(), options).await?;
    call.connection.add_created(&call.manager, &session);
    let isolation = match config.shares_profile() {
        false => "",
        true if config.attach.is_some() => SHARED,
        true if config.user_data_dir.is_some() => SHARED_PROFILE,
        true => SHARED_REMOTE,
    };
    Ok(CreateAnswer {
        session_id: session.id.to_string(),
        expires_at: session.expires_at().unwrap_or_default(),
        message: format!("{CREATED}{isolation}"),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CloseParameters {
    session_id: String,
}

#[derive(Serialize, JsonSchema)]
struct CloseResult {
    success: bool,
    message: String,
}

async fn close(call: ServerCall, given: CloseParameters) -> Result<CloseResult> {
    call.connection.close(&call.manager, &given.session_id).await?;
    Ok(CloseResult { success: true, message: format!("Session {} is closed.", given.session_id) })
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum StateParameter {
    Active,
    Recoverable,
    Stale,
    Expired,
    Closed,
    Error,
}

impl From<StateParameter> for SessionState {
    fn from(state: StateParameter) -> Self {
        match state {
            StateParameter::Active => Self::Active,
            StateParameter::Recoverable => Self::Recoverable,
            StateParameter::Stale => Self::Stale,
            StateParameter::Expired => Self::Expired,
            StateParameter::Closed => Self::Closed,
            StateParameter::Error => Self::Error,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct ListSessionsParameters {
    state: Option<StateParameter>,
}

#[derive(Serialize, JsonSchema)]
struct SessionList {
    sessions: Vec<SessionInfo>,
}

async fn list(call: ServerCall, given: ListSessionsParameters) -> Result<SessionList> {
    let mut sessions = Vec::new();
    if given.state.is_none_or(|state| state == StateParameter::Active) {
        let active = call.manager.list();
        let known = active.iter().filter(|session| {
            call.connection.knows(&session.id)
                && call.connection.can_access(&call.manager, &session.id)
        });
        sessions.extend(known.map(|session| session.info()));
    }
    if given.state != Some(StateParameter::Active) {
        // Over HTTP, clients of several people share the user and the working directory of the
        // server. A session id is a capability token, so the list contains only ids that the client
        // has.
        let shares_user = call.manager.config().transport == Transport::Stdio;
        let is_visible = |id: &str| {
            (shares_user || call.connection.knows(id))
                && call.connection.can_access(&call.manager, id)
        };
        sessions.extend(
            call.manager.resumable_sessions(given.state.map(Into::into), is_visible).await?,
        );
    }
    Ok(SessionList { sessions })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResumeParameters {
    session_id: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResumedAnswer {
    session_id: String,
    /// Milliseconds since 1970; absent if the session lives as long as its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    pages: Vec<PageInfo>,
    message: String,
}

async fn resume(call: ServerCall, given: ResumeParameters) -> Result<ResumedAnswer> {
    let session = call.connection.resume(&call.manager, &given.session_id).await?;
    let SessionInfo { session_id, expires_at, pages, .. } = session.info();
    let message = match session.replayed().await {
        Some(replayed) => replayed_message(&replayed),
        None => {
            "The session is resumed. Refs of elements that still exist remain valid.".to_owned()
        }
    };
    Ok(ResumedAnswer { session_id, expires_at, pages, message })
}

/// Returns the message that lists what the tools of the upstream server have restored, and what is
/// missing.
fn replayed_message(ReplayReport { done, missing }: &ReplayReport) -> String {
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    let missing = if missing.is_empty() { "nothing".to_owned() } else { missing.join("; ") };
    format!(
        "The session is resumed with its own upstream server. Restored: {done}. Not restored: {missing}."
    )
}

#[derive(Deserialize, JsonSchema)]
struct SaveParameters {
    path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SaveStateResult {
    success: bool,
    message: String,
    /// Cookies and origins, in the form of Playwright's storageState.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StorageState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// Returns what a state contains: `1 cookie and the storage of 2 origins`.
fn summary(state: &StorageState) -> String {
    let counted = |count: usize, noun: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{ending}")
    };
    let cookies = counted(state.cookies.len(), "cookie");
    format!("{cookies} and the storage of {}", counted(state.origins.len(), "origin"))
}

async fn save_state(
    call: SessionCall,
    given: SaveParameters,
) -> Result<LargeAnswer<SaveStateResult>> {
    let state = call.session.storage_state().await?;
    let summary = summary(&state);
    let Some(name) = given.path else {
        let bytes = state.bytes();
        let message = format!("Saved {summary}.");
        return Ok(LargeAnswer {
            bytes,
            answer: SaveStateResult { success: true, message, state: Some(state), path: None },
        });
    };
    let text = offload::in_place(state.bytes(), || {
        let mut state = serde_json::to_value(&state).unwrap_or_default();
        call.session.secrets.vault().mask_json(&mut state);
        serde_json::to_string_pretty(&state).unwrap_or_default()
    });
    let files = call.session.files();
    let path = files.create(&name, IfExists::Fail, true, text.into_bytes()).await?.to_string();
    let message = format!(
        "Saved {summary} to {path}. Anyone who can read the file can use the logins of this session."
    );
    Ok(LargeAnswer {
        bytes: 0,
        answer: SaveStateResult { success: true, message, state: None, path: Some(path) },
    })
}

#[derive(Deserialize, JsonSchema)]
struct RestoreParameters {
    /// From save_state or Playwright, or its file
    state: Value,
}

/// Reads the storage state that a client gives: the state, the path of its file, or the result of
/// `save_state`.
async fn storage_state(files: &FileStore, given: Value) -> Result<StorageState> {
    match offload::in_place(offload::json_size(&given), || StorageStateParameter::of(given))? {
        StorageStateParameter::State(state) => Ok(state),
        StorageStateParameter::Path(path) => {
            StorageState::of_file(&files.find(NameBase::Output, &path).await?).await
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RestoreAnswer {
    success: bool,
    message: String,
    page: PageInfo,
}

async fn restore_state(call: SessionCall, given: RestoreParameters) -> Result<RestoreAnswer> {
    let state = storage_state(call.session.files(), given.state).await?;
    let state = state.unmasked(call.session.secrets.vault());
    let summary = summary(&state);
    let page = call.session.restore_state(state).await?;
    Ok(RestoreAnswer {
        success: true,
        message: format!(
            "Restored {summary}. The current page was reloaded; reload other pages to apply it there."
        ),
        page: PageInfo::of(&page),
    })
}

#[derive(Deserialize, JsonSchema)]
struct GetCookiesParameters {
    urls: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
struct Cookies {
    cookies: Vec<Cookie>,
}

async fn get_cookies(call: SessionCall, given: GetCookiesParameters) -> Result<Cookies> {
    let urls = given.urls.into_iter().flatten().map(|url| normalize_url(&url));
    let urls: Vec<Url> = urls.collect::<Result<_>>()?;
    Ok(Cookies { cookies: call.session.cookies(&urls).await? })
}

#[derive(Deserialize, JsonSchema)]
struct SetCookiesParameters {
    cookies: Vec<CookieParameter>,
}

async fn set_cookies(call: SessionCall, given: SetCookiesParameters) -> Result<ChangedAnswer> {
    let cookies = CookieParameter::check_all(given.cookies)?;
    call.session.set_cookies(&cookies).await?;
    let count = cookies.len();
    let noun = if count == 1 { "cookie was" } else { "cookies were" };
    Ok(changed(format!("{count} {noun} set.")))
}

async fn set_viewport(call: SessionCall, given: ViewportParameters) -> Result<ChangedAnswer> {
    let ViewportParameters { width, height } = given;
    call.session.set_viewport(Viewport { width, height }).await?;
    // The window of a WebKit browser has a minimum width.
    let shown = match call.session.current_page() {
        Some(page) => page.viewport().await?,
        None => (width.into(), height.into()),
    };
    let (real_width, real_height) = shown;
    let differs = shown != (width.into(), height.into());
    let note = if differs { "; the browser does not allow the requested size" } else { "" };
    Ok(changed(format!("The viewport is {real_width}×{real_height} px{note}.")))
}
