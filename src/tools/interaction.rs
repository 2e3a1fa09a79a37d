//! Tools that act on a page as a user would.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    answer::{ActionAnswer, BeforeAction},
    tool::{Group, PageCall, Switch, Tool, tool},
    typed::{TypedKey, TypedText},
};
use crate::{
    config::AfterAction,
    engine::{Modifiers, MouseButton},
    error::{ErrorCode, Result, TroupeError},
    files::NameBase,
    page::{
        ActionOutcome, CONTROL_OR_META, ChangedFields, ClickOptions, Page, Point, PointerTarget,
        ScrollOptions, TypeOptions,
    },
    policy::vault::ResolvedText,
};

pub(super) const UPLOADS: Switch = Switch {
    option: "enable-file-upload",
    is_on: |security| security.enable_file_upload,
    is_on_for_commands: false,
    suggestion: "start the server with --enable-file-upload true",
};

pub(super) fn tools() -> Vec<Tool> {
    let acts = |name, description| tool(name, Group::Interaction, description);
    vec![
        acts("click", "Click an element by its ref (e12) or a selector: CSS, XPath, text=, role=, label=, testid=; >>> enters frames.").command("click", &["selector"], "troupe click e12")
            .page(click),
        acts("type", "Type text key by key; clear replaces the field's text, submit presses Enter.").command("type", &["selector", "text"], "troupe type e7 'hello' --submit")
            .page(type_text),
        acts("fill", "Set a field's value at once. For most forms; use type if a field reacts to keys.").command("fill", &["selector", "value"], "troupe fill 'label=Email' 'ada@example.com'").page(fill),
        acts("fill_form", "Set several fields: text, options, true or false for checkboxes.").command("form", &["fields"], r#"troupe form '[{"selector": "label=Name", "value": "Ada"}]'"#).page(fill_form),
        acts("select", "Choose an option of a <select> by value or label.").command("select", &["selector", "value"], "troupe select 'label=Country' Norway").page(select),
        acts("check", "Check a checkbox, switch or radio button.").command("check", &["selector"], "troupe check 'label=I agree'").page(check),
        acts("uncheck", "Uncheck a checkbox or switch.").command("uncheck", &["selector"], "troupe uncheck 'label=I agree'").page(uncheck),
        acts("hover", "Move the pointer over an element, for menus and tooltips.").command("hover", &["selector"], "troupe hover e4").page(hover),
        acts("scroll", "Scroll by x and y pixels (wheel on maps), or an element into view. Actions scroll automatically.").command("scroll", &["selector"], "troupe scroll --y 600").page(scroll),
        acts("drag_and_drop", "Drag one element onto another, or along a path to draw.").command("drag", &["source", "target"], "troupe drag e3 e9").page(drag_and_drop),
        acts("upload_file", "Set the files of a file input, or of the chooser that a button opens.").command("upload", &["selector", "files"], "troupe upload 'label=Photo' photo.png").files(&["files"])
            .switched_by(UPLOADS)
            .page(upload_file),
        acts("press", "Press a key or chord in the focused element: Enter, ArrowDown, Control+A.").command("press", &["key"], "troupe press Enter").page(press),
        acts("handle_dialog", "Accept or dismiss the open JavaScript dialog.").command("dialog", &["accept"], "troupe dialog true")
            .works_in_dialog()
            .page(handle_dialog),
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) enum Modifier {
    Alt,
    Control,
    ControlOrMeta,
    Meta,
    Shift,
}

impl Modifier {
    fn bit(self) -> Modifiers {
        match self {
            Self::Alt => 1,
            Self::Control => 2,
            Self::Meta => 4,
            Self::Shift => 8,
            Self::ControlOrMeta => CONTROL_OR_META,
        }
    }
}

/// CSS pixels from the top left corner of the element, else of the viewport.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline, description = "px in the element, else in the viewport")]
struct Position {
    x: f64,
    y: f64,
}

impl From<Position> for Point {
    fn from(Position { x, y }: Position) -> Self {
        Self { x, y }
    }
}

/// Returns the target of a pointer action. `names`: its parameters, for the error.
fn pointer_target(
    selector: Option<String>,
    position: Option<Position>,
    names: [&str; 2],
) -> Result<PointerTarget> {
    if selector.is_none() && position.is_none() {
        let [selector, position] = names;
        let problem = format!("`{selector}` or `{position}` is missing");
        let violation =
            json!({"parameter": selector, "problem": problem, "reason": "MISSING_PARAMETER"});
        return Err(missing(problem).detail("violations", json!([violation])).suggestion(
            format!("pass a ref (e12) or another selector as `{selector}`, or `{position}` {{x, y}} in the viewport"),
        ));
    }
    Ok(PointerTarget { selector, position: position.map(Into::into) })
}

fn missing(message: String) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, message).detail("reason", "MISSING_PARAMETER")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ClickParameters {
    selector: Option<String>,
    position: Option<Position>,
    button: Option<Button>,
    #[schemars(range(min = 1, max = 10))]
    click_count: Option<u32>,
    /// Even if hidden or covered
    force: Option<bool>,
    /// ms
    timeout: Option<u64>,
    modifiers: Option<Vec<Modifier>>,
}

/// Returns the bit field of the modifier keys.
pub(super) fn modifier_bits(modifiers: &[Modifier]) -> Modifiers {
    modifiers.iter().fold(0, |bits, modifier| bits | modifier.bit())
}

/// Runs `work` on the call's page and returns its effects as an action's answer.
async fn act(
    call: PageCall,
    verb: &str,
    work: impl AsyncFnOnce(&Page) -> Result<ActionOutcome>,
) -> Result<ActionAnswer> {
    let before = BeforeAction::of(&call);
    let reports_changes = call.config.after_action == AfterAction::Changes;
    let call = PageCall { is_new: reports_changes && !call.page.is_shown(), ..call };
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
        modifiers: modifier_bits(given.modifiers.as_deref().unwrap_or_default()),
        ..ClickOptions::left_button(call.action_timeout(given.timeout))
    };
    let target = pointer_target(given.selector, given.position, ["selector", "position"])?;
    act(call, "Clicked", async |page| page.click(&target, &options).await).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TypeParameters {
    selector: String,
    text: TypedText,
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
        timeout: call.action_timeout(given.timeout),
    };
    enter_text(call, "Typed into", &given.text, async |page, text| {
        page.type_text(&given.selector, text, &options).await
    })
    .await
}

/// Enters `text`, of which no secret is returned.
async fn enter_text(
    call: PageCall,
    verb: &str,
    text: &TypedText,
    enter: impl AsyncFnOnce(&Page, &str) -> Result<ActionOutcome>,
) -> Result<ActionAnswer> {
    let session = call.session.clone();
    let ResolvedText { text, is_secret } = text.resolve(&session.secrets)?;
    Box::pin(act(call, verb, async |page| {
        let done = with_secret(page, is_secret, enter(page, &text)).await?;
        Ok(without_secrets(done, |_| is_secret))
    }))
    .await
}

#[derive(Deserialize, JsonSchema)]
struct FillParameters {
    selector: String,
    value: TypedText,
}

/// Awaits `typing`. If the text is a secret, marks `page` for [`Page::holds_secret`].
pub(super) async fn with_secret<T>(
    page: &Page,
    is_secret: bool,
    typing: impl Future<Output = Result<T>>,
) -> Result<T> {
    if !is_secret {
        return typing.await;
    }
    // Before typing, because the call may be canceled or fail after a part was typed.
    page.record_secret();
    let done = typing.await;
    if done.is_err() {
        page.record_secret();
    }
    done
}

/// Returns `done` without the values of fields that contain a part of a secret. `is_secret` says
/// which entered texts are secret.
fn without_secrets(mut done: ActionOutcome, is_secret: impl Fn(usize) -> bool) -> ActionOutcome {
    for field in done.other_values.iter_mut().filter(|field| is_secret(field.index)) {
        field.value = None;
    }
    done
}

async fn fill(call: PageCall, given: FillParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(None);
    enter_text(call, "Filled", &given.value, async |page, text| {
        page.fill(&given.selector, text, true, timeout).await
    })
    .await
}

#[derive(Deserialize, JsonSchema)]
struct FillFormParameters {
    fields: Vec<FormField>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct FormField {
    selector: String,
    value: GivenFieldValue,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum GivenFieldValue {
    Text(TypedText),
    Checked(bool),
    // Keeps integers as integers: 3, not 3.0.
    Number(serde_json::Number),
}

async fn fill_form(call: PageCall, given: FillFormParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(None);
    let mut secret = Vec::with_capacity(given.fields.len());
    let mut fields: Vec<(String, Value)> = Vec::with_capacity(given.fields.len());
    for field in given.fields {
        let (value, is_secret) = match field.value {
            GivenFieldValue::Text(text) => {
                let ResolvedText { text, is_secret } = text.resolve(&call.session.secrets)?;
                (text.into(), is_secret)
            }
            GivenFieldValue::Checked(on) => (on.into(), false),
            GivenFieldValue::Number(number) => (Value::Number(number), false),
        };
        secret.push(is_secret);
        fields.push((field.selector, value));
    }
    act(call, "Filled", async |page| {
        let filling = page.fill_form(&fields, timeout);
        let done = Box::pin(with_secret(page, secret.contains(&true), filling)).await?;
        Ok(without_secrets(done, |index| secret.get(index) == Some(&true)))
    })
    .await
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
    let timeout = call.action_timeout(None);
    let values = match given.value {
        OneOrMany::One(value) => vec![value],
        OneOrMany::Many(values) => values,
    };
    act(call, "Chose in", async |page| page.select(&given.selector, &values, true, timeout).await)
        .await
}

#[derive(Deserialize, JsonSchema)]
struct TargetParameters {
    selector: String,
    /// ms
    timeout: Option<u64>,
}

async fn check(call: PageCall, given: TargetParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(given.timeout);
    act(call, "Checked", async |page| page.set_checked(&given.selector, true, timeout).await).await
}

async fn uncheck(call: PageCall, given: TargetParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(given.timeout);
    act(call, "Unchecked", async |page| page.set_checked(&given.selector, false, timeout).await)
        .await
}

#[derive(Deserialize, JsonSchema)]
struct HoverParameters {
    selector: Option<String>,
    position: Option<Position>,
    /// ms
    timeout: Option<u64>,
}

async fn hover(call: PageCall, given: HoverParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(given.timeout);
    let target = pointer_target(given.selector, given.position, ["selector", "position"])?;
    act(call, "Hovered over", async |page| page.hover(&target, timeout).await).await
}

#[derive(Deserialize, JsonSchema)]
struct ScrollParameters {
    x: Option<f64>,
    y: Option<f64>,
    selector: Option<String>,
    position: Option<Position>,
}

async fn scroll(call: PageCall, given: ScrollParameters) -> Result<ActionAnswer> {
    let ScrollParameters { x, y, selector, position } = given;
    if x.is_none() && y.is_none() && selector.is_none() {
        return Err(missing("`scroll` needs `x`, `y` or `selector`".to_owned()).suggestion(
            "`scroll` {y: 600} scrolls down, {selector} scrolls an element into view",
        ));
    }
    let target = PointerTarget { selector, position: position.map(Into::into) };
    let options = ScrollOptions { target, x, y };
    act(call, "Scrolled", async |page| page.scroll(&options).await).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DragParameters {
    source: Option<String>,
    target: Option<String>,
    source_position: Option<Position>,
    target_position: Option<Position>,
    /// Draw along these points of the source, else of the viewport
    #[schemars(length(min = 2, max = 500))]
    path: Option<Vec<Position>>,
    /// ms
    timeout: Option<u64>,
}

async fn drag_and_drop(call: PageCall, given: DragParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(given.timeout);
    let (config, page) = (call.config.clone(), call.page.clone());
    let DragParameters { source, target, source_position, target_position, path, .. } = given;
    let mut answer = if let Some(path) = path {
        if target.is_some() || source_position.is_some() || target_position.is_some() {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "`path` cannot be combined with `target`, `sourcePosition` or `targetPosition`",
            )
            .suggestion(
                "pass only `path`: the mouse button is pressed at its first point and released at its last",
            ));
        }
        let path: Vec<Point> = path.into_iter().map(Into::into).collect();
        act(call, "Dragged over", async |page| page.draw(source, &path, timeout).await).await?
    } else {
        let source = pointer_target(source, source_position, ["source", "sourcePosition"])?;
        let target = pointer_target(target, target_position, ["target", "targetPosition"])?;
        act(call, "Dragged", async |page| page.drag(&source, &target, timeout).await).await?
    };
    // Otherwise the result of a rejected drop would look like that of an accepted one.
    if config.after_action == AfterAction::Changes && page.is_open() {
        answer.note_if_no_effect();
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
    let files = call.session.files();
    let files = call.session.local_paths(files, NameBase::Output, &given.files).await?;
    let timeout = call.action_timeout(None);
    act(call, "Put files into", async |page| page.upload(&given.selector, &files, timeout).await)
        .await
}

#[derive(Deserialize, JsonSchema)]
struct PressParameters {
    key: TypedKey,
    /// Element to focus first
    selector: Option<String>,
    modifiers: Option<Vec<Modifier>>,
}

async fn press(call: PageCall, given: PressParameters) -> Result<ActionAnswer> {
    let timeout = call.action_timeout(None);
    let modifiers = modifier_bits(given.modifiers.as_deref().unwrap_or_default());
    act(call, "Pressed", async |page| {
        page.press(&given.key.0, modifiers, given.selector.as_deref(), timeout).await
    })
    .await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DialogParameters {
    accept: bool,
    prompt_text: Option<TypedText>,
}

async fn handle_dialog(call: PageCall, given: DialogParameters) -> Result<ActionAnswer> {
    let verb = if given.accept { "Accepted" } else { "Dismissed" };
    let session = call.session.clone();
    let text = given.prompt_text.as_ref().map(|text| text.resolve(&session.secrets)).transpose()?;
    act(call, verb, async |page| {
        let is_secret = text.as_ref().is_some_and(|text| text.is_secret);
        let answering = page.handle_dialog(given.accept, text.as_ref().map(|text| &*text.text));
        let done = with_secret(page, is_secret, answering).await?;
        // A prompt shows the typed text.
        let entered = ChangedFields { passwords: vec![false], secret: None };
        Ok(ActionOutcome { entered, ..done })
    })
    .await
}
