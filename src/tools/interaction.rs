//! Tools that act on a page as a user would.

use std::{path::PathBuf, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    answer::ActionAnswer,
    extraction::aside,
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    config::AfterAction,
    engine::MouseButton,
    error::{ErrorCode, Result, TroupeError},
    page::{ClickOptions, Done, Page, ScrollOptions, TypeOptions},
    policy::files,
};

pub(super) fn tools() -> Vec<Tool> {
    let acts = |name, description| tool(name, Group::Interaction, description);
    vec![
        acts("click", "Click an element by its ref (e12) or a selector: CSS, XPath, text=, role=, label=, testid=; >>> enters frames.")
            .page(click),
        acts("type", "Type text key by key into a field; clear replaces what is in it, submit presses Enter.")
            .page(type_text),
        acts("fill", "Set a field's value at once. For most forms; type is for fields that watch the keys.").page(fill),
        acts("fill_form", "Set several fields in one call: text, choices, and true or false for boxes.").page(fill_form),
        acts("select", "Choose an option of a <select> by value or label.").page(select),
        acts("check", "Check a box, switch or radio button.").page(check),
        acts("uncheck", "Uncheck a box or switch.").page(uncheck),
        acts("hover", "Move the pointer over an element, for menus and tooltips.").page(hover),
        acts("scroll", "Scroll by x and y pixels, or an element into view. Actions scroll by themselves.").page(scroll),
        acts("drag_and_drop", "Drag one element onto another.").page(drag_and_drop),
        acts("upload_file", "Put files into a file input, or the chooser that a button opens.").page(upload_file),
        acts("press", "Press a key or chord where the focus is: Enter, ArrowDown, Control+A.").page(press),
        acts("handle_dialog", "Accept or dismiss the JavaScript dialog that holds the page up.").works_in_dialog().page(handle_dialog),
    ]
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Button {
    Left,
    Right,
    Middle,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Modifier {
    Alt,
    Control,
    ControlOrMeta,
    Meta,
    Shift,
}

impl Modifier {
    /// CDP's bit.
    fn bit(self) -> u8 {
        match self {
            Self::Alt => 1,
            Self::Control => 2,
            Self::Meta => 4,
            Self::Shift => 8,
            Self::ControlOrMeta if cfg!(target_os = "macos") => 4,
            Self::ControlOrMeta => 2,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClickParameters {
    selector: String,
    button: Option<Button>,
    #[schemars(range(min = 1, max = 10))]
    click_count: Option<u32>,
    /// Even if hidden or covered
    force: Option<bool>,
    /// ms
    timeout: Option<u64>,
    modifiers: Option<Vec<Modifier>>,
}

fn bits(modifiers: Option<Vec<Modifier>>) -> u8 {
    modifiers.into_iter().flatten().fold(0, |bits, modifier| bits | modifier.bit())
}

fn action_timeout(call: &PageCall, given: Option<u64>) -> Duration {
    given.map_or(call.config.timeout_action, Duration::from_millis)
}

/// Does `work` on the call's page and tells what came of it as an action's answer.
async fn act(
    call: PageCall,
    verb: &str,
    work: impl AsyncFnOnce(&Page) -> Result<Done>,
) -> Result<ActionAnswer> {
    let before = call.session.pages_opened();
    let done = work(&call.page).await?;
    let _ = call.entered.set(done.entered.clone());
    Ok(ActionAnswer::of(&call, verb, done, before).await)
}

async fn click(call: PageCall, given: ClickParameters) -> Result<ActionAnswer> {
    let options = ClickOptions {
        button: match given.button.unwrap_or(Button::Left) {
            Button::Left => MouseButton::Left,
            Button::Right => MouseButton::Right,
            Button::Middle => MouseButton::Middle,
        },
        clicks: given.click_count.unwrap_or(1),
        force: given.force.unwrap_or(false),
        timeout: action_timeout(&call, given.timeout),
        modifiers: bits(given.modifiers),
    };
    act(call, "Clicked", async |page| page.click(&given.selector, &options).await).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TypeParameters {
    selector: String,
    text: String,
    /// ms between two characters
    delay: Option<u64>,
    /// ms
    timeout: Option<u64>,
    clear: Option<bool>,
    submit: Option<bool>,
}

async fn type_text(call: PageCall, given: TypeParameters) -> Result<ActionAnswer> {
    let options = TypeOptions {
        delay: Duration::from_millis(given.delay.unwrap_or(0)),
        clear: given.clear.unwrap_or(false),
        submit: given.submit.unwrap_or(false),
        timeout: action_timeout(&call, given.timeout),
    };
    let session = call.session.clone();
    let text = session.secrets.typed(&given.text);
    act(call, "Typed into", async |page| page.type_text(&given.selector, text, &options).await).await
}

#[derive(Deserialize, JsonSchema)]
struct FillParameters {
    selector: String,
    value: String,
}

async fn fill(call: PageCall, given: FillParameters) -> Result<ActionAnswer> {
    let timeout = call.config.timeout_action;
    let session = call.session.clone();
    let value = session.secrets.typed(&given.value);
    act(call, "Filled", async |page| page.fill(&given.selector, value, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct FillFormParameters {
    fields: Vec<FormField>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct FormField {
    selector: String,
    value: FieldValue,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum FieldValue {
    Text(String),
    Checked(bool),
    // A whole one stays whole: 3, not 3.0.
    Number(serde_json::Number),
}

async fn fill_form(call: PageCall, given: FillFormParameters) -> Result<ActionAnswer> {
    let timeout = call.config.timeout_action;
    let fields: Vec<(String, Value)> = given
        .fields
        .into_iter()
        .map(|field| {
            let value = match field.value {
                FieldValue::Text(text) => call.session.secrets.typed(&text).into(),
                FieldValue::Checked(on) => on.into(),
                FieldValue::Number(number) => Value::Number(number),
            };
            (field.selector, value)
        })
        .collect();
    act(call, "Filled", async |page| page.fill_form(&fields, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct SelectParameters {
    selector: String,
    value: OneOrMany,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

async fn select(call: PageCall, given: SelectParameters) -> Result<ActionAnswer> {
    let timeout = call.config.timeout_action;
    let values = match given.value {
        OneOrMany::One(value) => vec![value],
        OneOrMany::Many(values) => values,
    };
    act(call, "Chose in", async |page| page.select(&given.selector, &values, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct TargetParameters {
    selector: String,
    /// ms
    timeout: Option<u64>,
}

async fn check(call: PageCall, given: TargetParameters) -> Result<ActionAnswer> {
    let timeout = action_timeout(&call, given.timeout);
    act(call, "Checked", async |page| page.set_checked(&given.selector, true, timeout).await).await
}

async fn uncheck(call: PageCall, given: TargetParameters) -> Result<ActionAnswer> {
    let timeout = action_timeout(&call, given.timeout);
    act(call, "Unchecked", async |page| page.set_checked(&given.selector, false, timeout).await).await
}

async fn hover(call: PageCall, given: TargetParameters) -> Result<ActionAnswer> {
    let timeout = action_timeout(&call, given.timeout);
    act(call, "Hovered over", async |page| page.hover(&given.selector, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct ScrollParameters {
    x: Option<f64>,
    y: Option<f64>,
    selector: Option<String>,
}

async fn scroll(call: PageCall, given: ScrollParameters) -> Result<ActionAnswer> {
    if given.x.is_none() && given.y.is_none() && given.selector.is_none() {
        return Err(TroupeError::new(ErrorCode::InvalidParameters, "`scroll` needs `x`, `y` or `selector`")
            .detail("reason", "MISSING_PARAMETER")
            .suggestion("scroll {y: 600} goes down, scroll {selector} brings an element into view"));
    }
    let options = ScrollOptions { target: given.selector, x: given.x, y: given.y };
    act(call, "Scrolled", async |page| {
        let (mut done, at) = page.scroll(&options).await?;
        done.element =
            format!("{} to {}, {} of {}, {}", done.element, at["x"], at["y"], at["maxX"], at["maxY"]);
        Ok(done)
    })
    .await
}

#[derive(Deserialize, JsonSchema)]
struct DragParameters {
    source: String,
    target: String,
    /// ms
    timeout: Option<u64>,
}

async fn drag_and_drop(call: PageCall, given: DragParameters) -> Result<ActionAnswer> {
    let timeout = action_timeout(&call, given.timeout);
    let (config, page) = (call.config.clone(), call.page.clone());
    let mut answer =
        act(call, "Dragged", async |page| page.drag(&given.source, &given.target, timeout).await).await?;
    // Nothing else tells a board that has taken the card from one that has let it fall.
    if config.after_action == AfterAction::Changes && page.is_open() {
        answer.tell_if_nothing_came();
    }
    Ok(answer)
}

#[derive(Deserialize, JsonSchema)]
struct UploadParameters {
    selector: String,
    /// Paths
    files: Vec<String>,
}

async fn upload_file(call: PageCall, given: UploadParameters) -> Result<ActionAnswer> {
    if !call.config.security.enable_file_upload {
        return Err(TroupeError::new(ErrorCode::BlockedByPolicy, "uploads are switched off on this server")
            .detail("rule", "enableFileUpload"));
    }
    let (config, names) = (call.config.clone(), given.files);
    let files: Vec<PathBuf> =
        aside(move || names.iter().map(|name| files::resolve_input(&config, name)).collect()).await?;
    let timeout = call.config.timeout_action;
    act(call, "Put files into", async |page| page.upload(&given.selector, &files, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct PressParameters {
    key: String,
    modifiers: Option<Vec<Modifier>>,
}

async fn press(call: PageCall, given: PressParameters) -> Result<ActionAnswer> {
    act(call, "Pressed", async |page| page.press(&given.key, bits(given.modifiers)).await).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DialogParameters {
    accept: bool,
    prompt_text: Option<String>,
}

async fn handle_dialog(call: PageCall, given: DialogParameters) -> Result<ActionAnswer> {
    let verb = if given.accept { "Accepted" } else { "Dismissed" };
    let session = call.session.clone();
    act(call, verb, async |page| {
        let text = given.prompt_text.as_deref().map(|text| session.secrets.typed(text));
        let settled = page.handle_dialog(given.accept, text).await?;
        Ok(Done { element: "the dialog".to_owned(), settled, ..Done::default() })
    })
    .await
}
