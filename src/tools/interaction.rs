//! Tools that act on a page as a user would.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    answer::ActionAnswer,
    tool::{Group, PageCall, Tool, tool},
};
use crate::{
    engine::MouseButton,
    error::Result,
    page::{ClickOptions, TypeOptions},
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("click", Group::Interaction, "Click an element: a ref of the last snapshot (e12), CSS, or XPath. Waits until it can be clicked.")
            .page(click),
        tool("type", Group::Interaction, "Type text key by key into a field. Use clear to replace what is in it, submit to press Enter.")
            .page(type_text),
        tool("handle_dialog", Group::Interaction, "Accept or dismiss the JavaScript dialog that holds the page up.")
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
    /// Do not wait until it is visible, enabled and uncovered
    force: Option<bool>,
    /// ms
    timeout: Option<u64>,
    modifiers: Option<Vec<Modifier>>,
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
        timeout: given.timeout.map_or(call.config.timeout_action, Duration::from_millis),
        modifiers: given.modifiers.into_iter().flatten().fold(0, |bits, modifier| bits | modifier.bit()),
    };
    let before = call.session.pages_opened();
    let done = call.page.click(&given.selector, &options).await?;
    Ok(ActionAnswer::of(&call, "Clicked", done, before).await)
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
        timeout: given.timeout.map_or(call.config.timeout_action, Duration::from_millis),
    };
    let before = call.session.pages_opened();
    let done = call.page.type_text(&given.selector, &given.text, &options).await?;
    Ok(ActionAnswer::of(&call, "Typed into", done, before).await)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DialogParameters {
    accept: bool,
    prompt_text: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Handled {
    success: bool,
    message: String,
}

async fn handle_dialog(call: PageCall, given: DialogParameters) -> Result<Handled> {
    call.page.handle_dialog(given.accept, given.prompt_text.as_deref()).await?;
    let verb = if given.accept { "accepted" } else { "dismissed" };
    Ok(Handled { success: true, message: format!("The dialog was {verb}.") })
}
