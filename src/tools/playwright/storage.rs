//! Cookies, localStorage, sessionStorage and storage states.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    call::{NoArguments, PlaywrightCall, error},
    code,
    output::{self, FileName},
    response::Response,
};
use crate::{
    engine::network::{Cookie, SameSite},
    error::{Result, TroupeError},
    files::NameBase,
    session::{CookieParameter, StorageState},
};

#[derive(Deserialize)]
pub(super) struct CookieFilter {
    domain: Option<String>,
    path: Option<String>,
}

const COOKIES: &str = "await page.context().cookies();";

pub(super) async fn list_cookies(call: PlaywrightCall, given: CookieFilter) -> Result<Response> {
    let mut cookies = call.session.cookies(&[]).await?;
    let domain = given.domain.unwrap_or_default();
    let path = given.path.unwrap_or_default();
    cookies.retain(|cookie| cookie.domain.contains(&domain) && cookie.path.starts_with(&path));
    let lines: Vec<String> = cookies.iter().map(brief).collect();
    let text = if lines.is_empty() { "No cookies found".to_owned() } else { lines.join("\n") };
    Ok(Response::text(text).with_code(COOKIES))
}

fn brief(cookie: &Cookie) -> String {
    let Cookie { name, value, domain, path, .. } = cookie;
    format!("{name}={value} (domain: {domain}, path: {path})")
}

#[derive(Deserialize)]
pub(super) struct CookieName {
    name: String,
}

pub(super) async fn get_cookie(call: PlaywrightCall, given: CookieName) -> Result<Response> {
    let cookies = call.session.cookies(&[]).await?;
    let text = match cookies.iter().find(|cookie| cookie.name == given.name) {
        None => format!("Cookie '{}' not found", given.name),
        Some(cookie) => {
            let Cookie { name, value, domain, path, http_only, secure, .. } = cookie;
            let same_site = cookie.same_site.map_or("Lax", SameSite::as_str);
            format!(
                "{name}={value} (domain: {domain}, path: {path}, httpOnly: {http_only}, secure: {secure}, sameSite: {same_site})"
            )
        }
    };
    Ok(Response::text(text).with_code(COOKIES))
}

pub(super) async fn set_cookie(
    call: PlaywrightCall,
    mut given: Map<String, Value>,
) -> Result<Response> {
    let page = call.page().await?;
    let is_missing = |given: &Map<String, Value>, name: &str| {
        given.get(name).and_then(Value::as_str).is_none_or(str::is_empty)
    };
    if is_missing(&given, "domain") {
        let host = Url::parse(&page.url()).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = host.ok_or_else(|| {
            error("browserContext.addCookies: Cookie should have a url or a domain/path pair")
        })?;
        given.insert("domain".into(), host.into());
    }
    if is_missing(&given, "path") {
        given.insert("path".into(), "/".into());
    }
    // In the order in which Playwright writes them.
    let names = ["name", "value", "domain", "path", "expires", "httpOnly", "secure", "sameSite"];
    let fields = names.iter().filter_map(|name| Some((*name, given.get(*name)?)));
    let written: Vec<String> = fields.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    let cookie: CookieParameter = serde_json::from_value(Value::Object(given))
        .map_err(|problem| error(format!("browserContext.addCookies: {problem}")))?;
    call.session.set_cookies(&CookieParameter::check_all(vec![cookie])?).await?;
    Ok(Response::default()
        .with_code(format!("await page.context().addCookies([{{{}}}]);", written.join(","))))
}

pub(super) async fn delete_cookie(call: PlaywrightCall, given: CookieName) -> Result<Response> {
    expire_cookies(&call, |cookie| cookie.name == given.name).await?;
    let name = code::quote(&given.name);
    Ok(Response::default()
        .with_code(format!("await page.context().clearCookies({{ name: {name} }});")))
}

pub(super) async fn clear_cookies(call: PlaywrightCall, _given: NoArguments) -> Result<Response> {
    expire_cookies(&call, |_| true).await?;
    Ok(Response::default().with_code("await page.context().clearCookies();"))
}

/// Deletes cookies: browsers delete a cookie that is set with an expiry in the past.
async fn expire_cookies(call: &PlaywrightCall, is_deleted: impl Fn(&Cookie) -> bool) -> Result<()> {
    let mut cookies = call.session.cookies(&[]).await?;
    cookies.retain(is_deleted);
    let expired: Vec<Cookie> =
        cookies.into_iter().map(|cookie| Cookie { expires: 1.0, ..cookie }).collect();
    if expired.is_empty() { Ok(()) } else { call.session.set_cookies(&expired).await }
}

#[derive(Deserialize)]
pub(super) struct StateFile {
    filename: Option<String>,
}

pub(super) async fn save_state(call: PlaywrightCall, given: StateFile) -> Result<Response> {
    let state = call.session.storage_state().await?;
    let text = crate::offload::in_place(state.bytes(), || {
        let mut state = serde_json::to_value(&state).unwrap_or_default();
        as_playwright_writes(&mut state);
        call.session.secrets.vault().mask_json(&mut state);
        serde_json::to_string_pretty(&state).unwrap_or_default()
    });
    let name = FileName::new(given.filename, "storage-state", "json");
    let file = output::write_secret(&call, name, text.into_bytes()).await?;
    let path = code::quote(&file.name);
    Ok(Response::text(file.link("Storage state"))
        .with_code(format!("await page.context().storageState({{ path: {path} }});")))
}

/// Converts a storage state to the form in which Playwright writes it: each cookie has a
/// `sameSite`, whole numbers have no fraction, and empty lists that Playwright does not have are
/// left out.
fn as_playwright_writes(state: &mut Value) {
    for cookie in state["cookies"].as_array_mut().into_iter().flatten() {
        #[expect(clippy::cast_possible_truncation, reason = "checked")]
        if let Some(expires) = cookie["expires"].as_f64().filter(|seconds| seconds.fract() == 0.0) {
            cookie["expires"] = (expires as i64).into();
        }
        if cookie["sameSite"].is_null() {
            cookie["sameSite"] = "Lax".into();
        }
    }
    for origin in state["origins"].as_array_mut().into_iter().flatten() {
        if let Some(origin) = origin.as_object_mut() {
            let is_empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
            origin.retain(|name, value| {
                name == "origin" || name == "localStorage" || !is_empty(value)
            });
        }
    }
}

#[derive(Deserialize)]
pub(super) struct SavedStateFile {
    filename: String,
}

pub(super) async fn restore_state(call: PlaywrightCall, given: SavedStateFile) -> Result<Response> {
    let files = call.files();
    let named = files.name_in_workspace(&given.filename);
    let found = files.find(NameBase::Workspace, &given.filename).await;
    let file = found.map_err(|problem| {
        let is_missing = problem.message.starts_with("ENOENT");
        // As Playwright words it.
        let message = format!(
            "Error reading storage state from {named}:\nENOENT: no such file or directory, open '{named}'"
        );
        if is_missing { TroupeError { message, ..problem } } else { problem }
    })?;
    let state = StorageState::of_file(&file).await?;
    let state = state.unmasked(call.session.secrets.vault());
    call.session.restore_state(state).await?;
    let name = code::quote(&given.filename);
    Ok(Response::text(format!("Storage state restored from {}", given.filename))
        .with_code(format!("await page.context().setStorageState({name});")))
}

/// A kind of web storage.
pub(super) trait WebStorage {
    const NAME: &'static str;
}

pub(super) struct LocalStorage;

impl WebStorage for LocalStorage {
    const NAME: &'static str = "localStorage";
}

pub(super) struct SessionStorage;

impl WebStorage for SessionStorage {
    const NAME: &'static str = "sessionStorage";
}

/// Runs `script`, in which `storage` is the web storage of the current page, and `args` the
/// `arguments`.
async fn on_storage<S: WebStorage>(
    call: &PlaywrightCall,
    script: &str,
    arguments: &[&str],
) -> Result<Value> {
    let page = call.page().await?;
    let arguments: Vec<Value> = arguments.iter().map(|argument| json!(argument)).collect();
    let script = format!("(...args) => {{ const storage = {}; {script} }}", S::NAME);
    page.evaluate(&script, &arguments).await
}

#[derive(Deserialize)]
pub(super) struct StorageKeyArguments {
    key: String,
}

#[derive(Deserialize)]
pub(super) struct ItemArguments {
    key: String,
    value: String,
}

pub(super) async fn list<S: WebStorage>(
    call: PlaywrightCall,
    _given: NoArguments,
) -> Result<Response> {
    let items = on_storage::<S>(&call, "return Object.entries(storage);", &[""]).await?;
    let line = |item: &Value| {
        format!("{}={}", item[0].as_str().unwrap_or(""), item[1].as_str().unwrap_or(""))
    };
    let lines: Vec<String> = items.as_array().into_iter().flatten().map(line).collect();
    let text =
        if lines.is_empty() { format!("No {} items found", S::NAME) } else { lines.join("\n") };
    Ok(Response::text(text).with_code(format!("await page.{}.items();", S::NAME)))
}

pub(super) async fn get<S: WebStorage>(
    call: PlaywrightCall,
    given: StorageKeyArguments,
) -> Result<Response> {
    let value = on_storage::<S>(&call, "return storage.getItem(args[0]);", &[&given.key]).await?;
    let text = match value.as_str() {
        None => format!("{} key '{}' not found", S::NAME, given.key),
        Some(value) => format!("{}={value}", given.key),
    };
    let key = code::quote(&given.key);
    Ok(Response::text(text).with_code(format!("await page.{}.getItem({key});", S::NAME)))
}

pub(super) async fn set<S: WebStorage>(
    call: PlaywrightCall,
    given: ItemArguments,
) -> Result<Response> {
    let ItemArguments { key, value } = given;
    on_storage::<S>(&call, "storage.setItem(args[0], args[1]);", &[&key, &value]).await?;
    let (key, value) = (code::quote(&key), code::quote(&value));
    Ok(Response::default().with_code(format!("await page.{}.setItem({key}, {value});", S::NAME)))
}

pub(super) async fn delete<S: WebStorage>(
    call: PlaywrightCall,
    given: StorageKeyArguments,
) -> Result<Response> {
    on_storage::<S>(&call, "storage.removeItem(args[0]);", &[&given.key]).await?;
    let key = code::quote(&given.key);
    Ok(Response::default().with_code(format!("await page.{}.removeItem({key});", S::NAME)))
}

pub(super) async fn clear<S: WebStorage>(
    call: PlaywrightCall,
    _given: NoArguments,
) -> Result<Response> {
    on_storage::<S>(&call, "storage.clear();", &[""]).await?;
    Ok(Response::default().with_code(format!("await page.{}.clear();", S::NAME)))
}
