//! Tools that act on a page as a user would.

use std::{path::PathBuf, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    call::{API, PlaywrightCall, action_error, error},
    code,
    response::Response,
};
use crate::{
    config::SnapshotMode,
    engine::MouseButton,
    error::{ErrorCode, Result, TroupeError},
    files::NameBase,
    page::{
        ActionOutcome, ChangedFields, ClickOptions, Page, PlaywrightTarget, Point, PointerTarget,
        TypeOptions,
    },
    tools::{
        extraction::run_blocking,
        interaction::{Modifier, modifier_bits, with_secret},
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ButtonArgument {
    Left,
    Right,
    Middle,
}

impl ButtonArgument {
    pub fn native(self) -> MouseButton {
        match self {
            Self::Left => MouseButton::Left,
            Self::Right => MouseButton::Right,
            Self::Middle => MouseButton::Middle,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Middle => "middle",
        }
    }
}

/// Returns the modifiers in code. Playwright records Control and Meta as `ControlOrMeta`.
fn modifiers_in_code(modifiers: &[Modifier]) -> Vec<&'static str> {
    let has = |modifier: Modifier| modifiers.contains(&modifier);
    let mut written = Vec::new();
    written.extend(has(Modifier::Alt).then_some("Alt"));
    written.extend(
        (has(Modifier::Control) || has(Modifier::ControlOrMeta)).then_some("ControlOrMeta"),
    );
    written.extend(has(Modifier::Meta).then_some("ControlOrMeta"));
    written.extend(has(Modifier::Shift).then_some("Shift"));
    written
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClickArguments {
    target: String,
    double_click: Option<bool>,
    button: Option<ButtonArgument>,
    modifiers: Option<Vec<Modifier>>,
}

pub(super) async fn click(call: PlaywrightCall, given: ClickArguments) -> Result<Response> {
    let page = call.page().await?;
    let modifiers = given.modifiers.unwrap_or_default();
    let button = given.button.unwrap_or(ButtonArgument::Left);
    let is_double = given.double_click == Some(true);
    let options = ClickOptions {
        button: button.native(),
        clicks: if is_double { 2 } else { 1 },
        aria_snapshot: call.config.snapshot_mode != SnapshotMode::None,
        modifiers: modifier_bits(&modifiers),
        ..ClickOptions::left_button(call.config.timeout_action)
    };
    let target = page.playwright_click_target(&given.target, &options).await?;
    let target = PlaywrightCall::only_match(target)?;
    let method = if is_double { "dblclick" } else { "click" };
    let clicked = Box::pin(call.act(page.click_playwright_target(&target, &options))).await;
    let done = clicked.map_err(|error| action_error(&call, &target, error))?;
    let mut written = Map::new();
    if button != ButtonArgument::Left {
        written.insert("button".into(), button.name().into());
    }
    let modifiers = modifiers_in_code(&modifiers);
    if !modifiers.is_empty() {
        written.insert("modifiers".into(), modifiers.into());
    }
    let options = code::options(&Value::Object(written));
    let code = format!("await page.{}.{method}({options});", target.locator);
    Ok(Response::default().with_action(code).showing_page_after(&page, done))
}

#[derive(Deserialize)]
pub(super) struct TargetArguments {
    target: String,
}

pub(super) async fn hover(call: PlaywrightCall, given: TargetArguments) -> Result<Response> {
    let page = call.page().await?;
    let target = call.strict_target(&page, &given.target).await?;
    let element = PointerTarget::element(&target.reference);
    let hovered = page.hover(&element, call.config.timeout_action).await;
    hovered.map_err(|error| action_error(&call, &target, error))?;
    let code = format!("await page.{}.hover();", target.locator);
    Ok(Response::default().with_action(code).showing_page())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DragArguments {
    start_target: String,
    end_target: String,
}

pub(super) async fn drag(call: PlaywrightCall, given: DragArguments) -> Result<Response> {
    let page = call.page().await?;
    let start = call.strict_target(&page, &given.start_target).await?;
    let end = call.strict_target(&page, &given.end_target).await?;
    let [from, to] = [&start, &end].map(|target| PointerTarget::element(&target.reference));
    let dragged = page.drag(&from, &to, call.config.timeout_action).await;
    dragged.map_err(|error| action_error(&call, &start, error))?;
    let code = format!("await page.{}.dragTo(page.{});", start.locator, end.locator);
    Ok(Response::default().with_code(code).showing_page())
}

#[derive(Deserialize)]
pub(super) struct Select {
    target: String,
    values: Vec<String>,
}

pub(super) async fn select(call: PlaywrightCall, given: Select) -> Result<Response> {
    let page = call.page().await?;
    let target = call.strict_target(&page, &given.target).await?;
    choose(&call, &target, &given.values).await?;
    Ok(Response::default().with_action(select_code(&target, &given.values)).showing_page())
}

async fn choose(
    call: &PlaywrightCall,
    target: &PlaywrightTarget,
    values: &[String],
) -> Result<ActionOutcome> {
    let page = call.page().await?;
    let chosen = page.select(&target.reference, values, false, call.config.timeout_action).await;
    chosen.map_err(|error| action_error(call, target, error))
}

fn select_code(target: &PlaywrightTarget, values: &[String]) -> String {
    let values = match values {
        [only] => json!(only),
        values => json!(values),
    };
    format!("await page.{}.selectOption({});", target.locator, code::object(&values))
}

#[derive(Deserialize)]
pub(super) struct KeyArguments {
    key: String,
}

pub(super) async fn press_key(call: PlaywrightCall, given: KeyArguments) -> Result<Response> {
    let page = call.page().await?;
    let mut response = Response::default();
    response.add_code(format!("// Press {}", given.key));
    response.add_code(format!("await page.keyboard.press({});", code::quote(&given.key)));
    let pressed = call.act(page.press(&given.key, 0, None, call.config.timeout_action)).await;
    let pressed = pressed.map_err(|problem| match problem.code {
        ErrorCode::InvalidParameters => {
            let message = format!("{API}: Unknown key: \"{}\"", given.key);
            TroupeError { message, ..problem }
        }
        _ => problem,
    })?;
    pressed.entered.secret.iter().for_each(|secret| call.session.secrets.add(secret));
    call.record_entered(&pressed.entered);
    if given.key == "Enter" {
        response.show_page();
    }
    Ok(response)
}

/// A text to type: its value, and how code writes it.
struct TextToType {
    value: String,
    code: String,
    is_secret: bool,
}

impl TextToType {
    /// Reads a text that may be the name of a secret.
    fn new(call: &PlaywrightCall, text: &str) -> Result<Self> {
        let vault = call.session.secrets.vault();
        let typed = vault.resolve(text)?;
        let (is_secret, value) = (typed.is_secret, typed.text.into_owned());
        let is_name = vault.names().any(|name| name == text);
        let code = if is_name { format!("process.env['{text}']") } else { code::quote(text) };
        Ok(Self { value, code, is_secret })
    }
}

#[derive(Deserialize)]
pub(super) struct Type {
    target: String,
    text: String,
    submit: Option<bool>,
    slowly: Option<bool>,
}

pub(super) async fn type_text(call: PlaywrightCall, given: Type) -> Result<Response> {
    let page = call.page().await?;
    let target = call.strict_target(&page, &given.target).await?;
    let text = TextToType::new(&call, &given.text)?;
    let mut response = Response::default();
    let timeout = call.config.timeout_action;
    let locator = &target.locator;
    let done = if given.slowly == Some(true) {
        response.add_code(format!("await page.{locator}.pressSequentially({});", text.code));
        response.show_page();
        let options = TypeOptions { delay: Duration::ZERO, clear: false, submit: false, timeout };
        let typing = page.type_text(&target.reference, &text.value, &options);
        let typed = with_secret(&page, text.is_secret, typing).await;
        typed.map_err(|error| action_error(&call, &target, error))?
    } else {
        response.add_action(format!("await page.{locator}.fill({});", text.code));
        let filling = page.fill(&target.reference, &text.value, false, timeout);
        let filled = with_secret(&page, text.is_secret, filling).await;
        filled.map_err(|error| action_error(&call, &target, error))?
    };
    call.record_typed(&text.value, &done.entered);
    call.record_entered(&done.entered);
    if given.submit == Some(true) {
        response.add_action(format!("await page.{locator}.press('Enter');"));
        response.show_page();
        let pressed = call.act(page.press("Enter", 0, Some(&target.reference), timeout)).await;
        pressed.map_err(|error| action_error(&call, &target, error))?;
    }
    Ok(response)
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FieldType {
    Textbox,
    Checkbox,
    Radio,
    Combobox,
    Slider,
}

#[derive(Deserialize)]
struct Field {
    target: String,
    r#type: FieldType,
    value: String,
}

#[derive(Deserialize)]
pub(super) struct FormArguments {
    fields: Vec<Field>,
}

pub(super) async fn fill_form(call: PlaywrightCall, given: FormArguments) -> Result<Response> {
    let page = call.page().await?;
    let mut response = Response::default();
    let mut entered = ChangedFields::default();
    let filling = fill_fields(&call, &page, given.fields, &mut entered, &mut response);
    let filled = Box::pin(filling).await;
    // Also if a later field has failed.
    call.record_entered(&entered);
    filled?;
    Ok(response)
}

async fn fill_fields(
    call: &PlaywrightCall,
    page: &Page,
    fields: Vec<Field>,
    entered: &mut ChangedFields,
    response: &mut Response,
) -> Result<()> {
    let timeout = call.config.timeout_action;
    for Field { target, r#type, value } in fields {
        let target = call.strict_target(page, &target).await?;
        let locator = &target.locator;
        match r#type {
            FieldType::Textbox | FieldType::Slider => {
                let text = TextToType::new(call, &value)?;
                let filling = page.fill(&target.reference, &text.value, false, timeout);
                let filled = with_secret(page, text.is_secret, filling).await;
                let filled = filled.map_err(|error| action_error(call, &target, error))?;
                call.record_typed(&text.value, &filled.entered);
                entered.passwords.push(filled.entered.passwords.contains(&true));
                entered.secret = filled.entered.secret.or(entered.secret.take());
                response.add_action(format!("await page.{locator}.fill({});", text.code));
            }
            FieldType::Checkbox | FieldType::Radio => {
                let checked = value == "true";
                let set = page.set_checked(&target.reference, checked, timeout).await;
                set.map_err(|error| action_error(call, &target, error))?;
                entered.passwords.push(false);
                let method = if checked { "check" } else { "uncheck" };
                response.add_action(format!("await page.{locator}.{method}();"));
            }
            FieldType::Combobox => {
                let values = [value];
                choose(call, &target, &values).await?;
                entered.passwords.push(false);
                response.add_action(select_code(&target, &values));
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DialogArguments {
    accept: bool,
    prompt_text: Option<String>,
}

pub(super) async fn handle_dialog(
    call: PlaywrightCall,
    given: DialogArguments,
) -> Result<Response> {
    let page = call.page().await?;
    // Without a text, Playwright answers a prompt with an empty one.
    let text = given.prompt_text.unwrap_or_default();
    page.answer_dialog(given.accept, Some(&text)).await?;
    Ok(Response::default())
}

#[derive(Deserialize)]
pub(super) struct Upload {
    paths: Option<Vec<String>>,
}

pub(super) async fn upload_files(call: PlaywrightCall, given: Upload) -> Result<Response> {
    let page = call.page().await?;
    let mut response = Response::default().showing_page();
    let Some(names) = given.paths else {
        page.dismiss_file_chooser();
        response.add_code("await fileChooser.setFiles(undefined)");
        return Ok(response);
    };
    let files = call.files();
    let written: Vec<String> = names.iter().map(|name| files.name_in_workspace(name)).collect();
    response.add_code(format!("await fileChooser.setFiles({})", json!(written)));
    let answered = match call.session.local_paths(&files, NameBase::Workspace, &names).await {
        Ok(paths) => page.answer_file_chooser(&paths).await.map_err(|error| {
            let is_single = error.message.contains("only one file");
            let message =
                "fileChooser.setFiles: Error: Non-multiple file input can only accept single file";
            if is_single { TroupeError { message: message.to_owned(), ..error } } else { error }
        }),
        Err(error) if error.code == ErrorCode::BlockedByPolicy => return Err(error),
        Err(error) => Err(error),
    };
    if let Err(error) = answered {
        response.add_error(error.message);
    }
    Ok(response)
}

#[derive(Deserialize)]
pub(super) struct DropArguments {
    target: String,
    paths: Option<Vec<String>>,
    data: Option<Map<String, Value>>,
}

/// Dispatches the events of a drop from outside of the page, with this element and payload.
const DROP: &str = r"(element) => {
  const payload = PAYLOAD
  const transfer = new DataTransfer()
  for (const { name, type, content } of payload.files) {
    const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0))
    transfer.items.add(new File([bytes], name, { type }))
  }
  for (const [type, value] of Object.entries(payload.data)) transfer.setData(type, value)
  const box = element.getBoundingClientRect()
  const init = {
    bubbles: true, cancelable: true, composed: true, dataTransfer: transfer,
    clientX: box.x + box.width / 2, clientY: box.y + box.height / 2
  }
  element.dispatchEvent(new DragEvent('dragenter', init))
  if (element.dispatchEvent(new DragEvent('dragover', init)))
    throw new Error('Drop target did not accept the drop.')
  element.dispatchEvent(new DragEvent('drop', init))
}";

pub(super) async fn drop_data(call: PlaywrightCall, given: DropArguments) -> Result<Response> {
    let names = given.paths.filter(|paths| !paths.is_empty());
    if names.is_none() && given.data.is_none() {
        return Err(error("At least one of \"paths\" or \"data\" must be provided."));
    }
    let page = call.page().await?;
    let target = call.strict_target(&page, &given.target).await?;
    let mut written = Map::new();
    let mut files = Vec::new();
    if let Some(names) = names {
        let store = call.files();
        let paths = call.session.local_paths(&store, NameBase::Workspace, &names).await?;
        let shown: Vec<String> = names.iter().map(|name| store.name_in_workspace(name)).collect();
        written.insert(
            "files".into(),
            if let [only] = shown.as_slice() { json!(only) } else { json!(shown) },
        );
        files = run_blocking(move || file_contents(&paths)).await?;
    }
    let data = given.data.map(Value::Object);
    written.extend(data.clone().map(|data| ("data".to_owned(), data)));
    let payload = json!({"files": files, "data": data.unwrap_or_else(|| json!({}))});
    let function = DROP.replace("PAYLOAD", &format!("({payload})"));
    let dropped = page.evaluate_on(&target.reference, &function).await;
    dropped.map_err(|error| action_error(&call, &target, error))?;
    let code =
        format!("await page.{}.drop({});", target.locator, code::object(&Value::Object(written)));
    Ok(Response::default().with_code(code).showing_page())
}

/// Maximum bytes of the files of a drop, as Playwright has for files in memory.
const MAX_DROP_SIZE: u64 = 50 * 1024 * 1024;

/// Reads the files for a drop.
fn file_contents(paths: &[PathBuf]) -> Result<Vec<Value>> {
    let mut bytes = 0;
    for path in paths {
        let found = std::fs::metadata(path)
            .map_err(|problem| error(format!("`{}` cannot be read: {problem}", path.display())))?;
        if !found.is_file() {
            return Err(error(format!("`{}` is not a file", path.display())));
        }
        bytes += found.len();
    }
    if bytes > MAX_DROP_SIZE {
        return Err(error(format!("the files have {bytes} bytes; the limit is {MAX_DROP_SIZE}")));
    }
    paths.iter().map(file_content).collect()
}

/// Reads a file for a drop: its name, type and content in base64.
fn file_content(path: &PathBuf) -> Result<Value> {
    let bytes = std::fs::read(path)
        .map_err(|problem| error(format!("`{}` cannot be read: {problem}", path.display())))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kind = mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream");
    Ok(json!({"name": name, "type": kind, "content": STANDARD.encode(bytes)}))
}

/// Returns the point of coordinates in the viewport.
pub(super) fn point(x: f64, y: f64) -> Point {
    Point { x, y }
}
