//! Tools that make, end and list sessions.

use std::{io::Write, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::tool::{Group, ServerCall, SessionCall, Tool, tool};
use crate::{
    config::{Config, Transport, Viewport},
    engine::network::{Cookie, SameSite},
    error::{ErrorCode, Result, TroupeError},
    page::normalise_url,
    policy::{files, vault::Vault},
    session::{CreateOptions, PageInfo, SessionInfo, StorageState},
    store::SessionState,
    upstream::Replayed,
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "create_session",
            Group::Session,
            "Open an isolated browser session, one for each task or identity.",
        )
        .server(create),
        tool("close_session", Group::Session, "End a session when its task is done.")
            .destructive()
            .server(close),
        tool("list_sessions", Group::Session, "List your sessions, and former ones that can be resumed.")
            .read_only()
            .server(list),
        tool(
            "session_resume",
            Group::Session,
            "Bring back an expired session, or one whose server died: log-ins, pages, forms, refs.",
        )
        .server(resume),
        tool(
            "save_state",
            Group::Session,
            "Get cookies and storage as Playwright's storageState, or write them to a new file.",
        )
        .session(save_state),
        tool(
            "restore_state",
            Group::Session,
            "Replace cookies and storage by a saved state, or by that of a file.",
        )
        .destructive()
        .session(restore_state),
        tool(
            "get_cookies",
            Group::Session,
            "Read cookies, also HttpOnly ones: all, or those sent to certain URLs.",
        )
        .read_only()
        .session(get_cookies),
        tool(
            "set_cookies",
            Group::Session,
            "Set cookies, each with a url or a domain; one that expires in the past deletes.",
        )
        .session(set_cookies),
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
    /// Of save_state or Playwright
    #[schemars(with = "Option<Value>")]
    storage_state: Option<StorageState>,
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
struct Created {
    session_id: String,
    /// Milliseconds since 1970.
    expires_at: u64,
    message: String,
}

async fn create(call: ServerCall, given: CreateParameters) -> Result<Created> {
    let config = call.manager.config();
    let other = given.viewport.is_some() || given.locale.is_some() || given.timezone.is_some();
    if config.upstream.command.is_some() && (other || given.user_agent.is_some()) {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "what pages are like is said to the upstream server by its own command, the same for all sessions",
        )
        .suggestion("create the session with storageState at most"));
    }
    let mut context = config.context.clone();
    if let Some(ViewportParameters { width, height }) = given.viewport {
        context.viewport = Some(Viewport { width, height });
    }
    context.user_agent = given.user_agent.or(context.user_agent);
    context.locale = given.locale.or(context.locale);
    context.timezone = given.timezone.or(context.timezone);
    let session = call
        .manager
        .create(CreateOptions { context: Some(context), storage_state: given.storage_state })
        .await?;
    call.connection.note_created(session.id.clone());
    Ok(Created {
        session_id: session.id.to_string(),
        expires_at: session.expires_at().unwrap_or_default(),
        message: "The session is open. Pass its sessionId in later calls, and close it when done.".to_owned(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CloseParameters {
    session_id: String,
}

#[derive(Serialize, JsonSchema)]
struct Closed {
    success: bool,
    message: String,
}

async fn close(call: ServerCall, given: CloseParameters) -> Result<Closed> {
    call.connection.close(&call.manager, &given.session_id).await?;
    Ok(Closed { success: true, message: format!("Session {} is closed.", given.session_id) })
}

/// How it stands with a session.
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
struct ListParameters {
    state: Option<StateParameter>,
}

#[derive(Serialize, JsonSchema)]
struct Sessions {
    sessions: Vec<SessionInfo>,
}

async fn list(call: ServerCall, given: ListParameters) -> Result<Sessions> {
    let mut sessions = Vec::new();
    if given.state.is_none_or(|state| state == StateParameter::Active) {
        let active = call.manager.list();
        let known = active.iter().filter(|session| {
            call.connection.knows(&session.id) && call.connection.reaches(&call.manager, &session.id)
        });
        sessions.extend(known.map(|session| session.info()));
    }
    if given.state != Some(StateParameter::Active) {
        let former = call.manager.former(given.state.map(Into::into)).await?;
        // Several clients share a server over HTTP: what it has ended itself is told to those who know of it.
        let mine = |info: &SessionInfo| {
            let listed = call.manager.config().transport == Transport::Stdio
                || ["recoverable", "stale"].contains(&&*info.state)
                || call.connection.knows(&info.session_id);
            listed && call.connection.reaches(&call.manager, &info.session_id)
        };
        sessions.extend(former.into_iter().filter(mine));
    }
    Ok(Sessions { sessions })
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
    /// Milliseconds since 1970; absent where it lives as long as its connection.
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
        None => "The session is back. Refs of elements that are still there go on working.".to_owned(),
    };
    Ok(ResumedAnswer { session_id, expires_at, pages, message })
}

/// What came back by the upstream server's own tools, and what did not.
fn replayed_message(Replayed { done, missing }: &Replayed) -> String {
    let done = if done.is_empty() { "nothing".to_owned() } else { done.join(", ") };
    let missing = if missing.is_empty() { "nothing".to_owned() } else { missing.join("; ") };
    format!(
        "The session is back with an upstream server of its own. Brought back: {done}. Not brought back: {missing}."
    )
}

#[derive(Deserialize, JsonSchema)]
struct SaveParameters {
    path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Saved {
    success: bool,
    message: String,
    /// Cookies and origins, in the form of Playwright's storageState.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    state: Option<StorageState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

async fn save_state(call: SessionCall, given: SaveParameters) -> Result<Saved> {
    let state = call.session.storage_state().await?;
    let told = format!("{} cookies and the storage of {} origins", state.cookies.len(), state.origins.len());
    let Some(name) = given.path else {
        return Ok(Saved {
            success: true,
            message: format!("Saved {told}."),
            state: Some(state),
            path: None,
        });
    };
    let mut state = serde_json::to_value(&state).unwrap_or_default();
    call.session.secrets.vault().mask_json(&mut state);
    let text = serde_json::to_string_pretty(&state).unwrap_or_default();
    let path = write_secret(&call.config, &name, &text)?;
    let path = path.display().to_string();
    Ok(Saved {
        success: true,
        message: format!("Saved {told} to {path}. Whoever can read it is logged in as this session is."),
        state: None,
        path: Some(path),
    })
}

/// Writes a new file below the output folder that only its owner may read.
fn write_secret(config: &Config, name: &str, text: &str) -> Result<PathBuf> {
    let (path, mut file) = files::create_output(config, name)?;
    let mut write = || {
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.write_all(text.as_bytes())
    };
    write().map_err(|error: std::io::Error| {
        TroupeError::new(ErrorCode::BrowserError, format!("`{}` cannot be written: {error}", path.display()))
    })?;
    Ok(path)
}

#[derive(Deserialize, JsonSchema)]
struct RestoreParameters {
    #[schemars(with = "Value")]
    state: StateOrPath,
}

/// A storage state, or where one is.
#[derive(Deserialize)]
#[serde(untagged)]
enum StateOrPath {
    Path(String),
    State(StorageState),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Restored {
    success: bool,
    message: String,
    page: PageInfo,
}

async fn restore_state(call: SessionCall, given: RestoreParameters) -> Result<Restored> {
    let state = match given.state {
        StateOrPath::State(state) => state,
        StateOrPath::Path(path) => StorageState::read(&files::resolve_input(&call.config, &path)?).await?,
    };
    let state = with_secrets(state, call.session.secrets.vault());
    let told = format!("{} cookies and the storage of {} origins", state.cookies.len(), state.origins.len());
    let page = call.session.restore_state(state).await?;
    Ok(Restored {
        success: true,
        message: format!(
            "Restored {told}. The current page was loaded again; reload others to see it there."
        ),
        page: PageInfo::of(&page),
    })
}

/// The state with the secrets that it was saved with by their names.
fn with_secrets(state: StorageState, vault: &Vault) -> StorageState {
    if vault.is_empty() {
        return state;
    }
    let mut value = serde_json::to_value(&state).unwrap_or_default();
    vault.unmask_json(&mut value);
    serde_json::from_value(value).unwrap_or(state)
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
    let urls = given.urls.into_iter().flatten().map(|url| normalise_url(&url));
    let urls: Vec<Url> = urls.collect::<Result<_>>()?;
    Ok(Cookies { cookies: call.session.cookies(&urls).await? })
}

#[derive(Deserialize, JsonSchema)]
struct SetCookiesParameters {
    cookies: Vec<CookieParameters>,
}

/// A cookie, in Playwright's shape.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct CookieParameters {
    name: String,
    value: String,
    url: Option<String>,
    domain: Option<String>,
    path: Option<String>,
    /// s since 1970
    expires: Option<f64>,
    http_only: Option<bool>,
    secure: Option<bool>,
    same_site: Option<SameSite>,
    /// The top-level site of a partitioned one
    partition_key: Option<String>,
    #[serde(rename = "_crHasCrossSiteAncestor")]
    has_cross_site_ancestor: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
struct CookiesSet {
    success: bool,
    message: String,
}

async fn set_cookies(call: SessionCall, given: SetCookiesParameters) -> Result<CookiesSet> {
    let cookies: Vec<Cookie> =
        given.cookies.into_iter().enumerate().map(|(at, given)| cookie(at, given)).collect::<Result<_>>()?;
    call.session.set_cookies(&cookies).await?;
    let count = cookies.len();
    let noun = if count == 1 { "cookie was" } else { "cookies were" };
    Ok(CookiesSet { success: true, message: format!("{count} {noun} set.") })
}

/// The cookie that the `at`th parameter means.
fn cookie(at: usize, given: CookieParameters) -> Result<Cookie> {
    let name = given.name;
    let wrong = |field: &str, problem: String| {
        let parameter = format!("cookies[{at}]{field}");
        TroupeError::new(ErrorCode::InvalidParameters, format!("cookie `{name}`: {problem}"))
            .detail("violations", json!([{"parameter": parameter, "problem": problem}]))
    };
    if name.is_empty() && given.value.is_empty() {
        return Err(wrong(".name", "it has neither a name nor a value".to_owned()));
    }
    if name.contains(['=', ';']) || format!("{name}{}", given.value).contains(char::is_control) {
        return Err(wrong(".name", "no `=`, `;` or control character can be part of it".to_owned()));
    }
    let expires = given.expires.unwrap_or(-1.0);
    let (domain, path, of_https) = match (given.url, given.domain) {
        (Some(_), Some(_)) => {
            return Err(wrong("", "it has a `url` and a `domain`; one of them says it".to_owned()));
        }
        (None, None) => {
            return Err(wrong("", "it needs a `url`, or a `domain` (with a `path`)".to_owned())
                .detail("reason", "MISSING_PARAMETER"));
        }
        (None, Some(domain)) if domain.trim_matches('.').is_empty() => {
            return Err(wrong(".domain", "its `domain` is empty".to_owned()));
        }
        (None, Some(domain)) => (domain, "/".to_owned(), false),
        (Some(url), None) => {
            let url = normalise_url(&url)?;
            let Some(host) = url.host_str().filter(|_| url.scheme().starts_with("http")) else {
                return Err(wrong(".url", format!("`{url}` can have no cookies")));
            };
            let path = url.path().rsplit_once('/').map_or("", |(path, _)| path);
            (host.to_owned(), format!("{path}/"), url.scheme() == "https")
        }
    };
    let path = given.path.unwrap_or(path);
    if !path.starts_with('/') {
        return Err(wrong(".path", format!("its `path` must begin with `/`, not be `{path}`")));
    }
    if given.same_site == Some(SameSite::None) && !given.secure.unwrap_or(of_https) {
        return Err(wrong(".sameSite", "with `sameSite: None` it must be `secure`".to_owned()));
    }
    Ok(Cookie {
        value: given.value,
        domain,
        path,
        expires,
        http_only: given.http_only.unwrap_or(false),
        secure: given.secure.unwrap_or(of_https),
        same_site: given.same_site,
        partition_key: given.partition_key,
        has_cross_site_ancestor: given.has_cross_site_ancestor,
        name,
    })
}
