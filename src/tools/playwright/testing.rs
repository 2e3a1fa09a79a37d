//! Assertions, locators and highlights.

use serde::Deserialize;
use serde_json::Value;

use super::{
    call::{PlaywrightCall, action_error},
    code,
    interaction::FieldType,
    response::Response,
};
use crate::{
    error::{ErrorCode, Result},
    page::PlaywrightTarget,
};

#[derive(Deserialize)]
pub(super) struct LocatorArguments {
    target: String,
}

pub(super) async fn generate_locator(
    call: PlaywrightCall,
    given: LocatorArguments,
) -> Result<Response> {
    let page = call.page().await?;
    Ok(Response::text(call.target(&page, &given.target).await?.locator))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VisibleElement {
    role: String,
    accessible_name: String,
}

pub(super) async fn verify_element(
    call: PlaywrightCall,
    given: VisibleElement,
) -> Result<Response> {
    let VisibleElement { role, accessible_name } = given;
    let locator =
        format!("getByRole({}, {{ name: {} }})", code::quote(&role), code::quote(&accessible_name));
    verify_visible(&call, &locator, || {
        format!("Element with role \"{role}\" and accessible name \"{accessible_name}\" not found")
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct VisibleText {
    text: String,
}

pub(super) async fn verify_text(call: PlaywrightCall, given: VisibleText) -> Result<Response> {
    let locator = format!("getByText({}).filter({{ visible: true }})", code::quote(&given.text));
    verify_visible(&call, &locator, || "Text not found".to_owned()).await
}

/// Verifies that `locator` matches in some frame.
async fn verify_visible(
    call: &PlaywrightCall,
    locator: &str,
    missing: impl FnOnce() -> String,
) -> Result<Response> {
    let page = call.page().await?;
    Ok(match page.playwright_target_in_any_frame(locator).await? {
        None => Response::error(missing()),
        Some(target) => Response::text("Done")
            .with_action(format!("await expect(page.{}).toBeVisible();", target.locator)),
    })
}

#[derive(Deserialize)]
pub(super) struct List {
    target: String,
    items: Vec<String>,
}

pub(super) async fn verify_list(call: PlaywrightCall, given: List) -> Result<Response> {
    let page = call.page().await?;
    let list = call.target(&page, &given.target).await?;
    let mut snapshot = vec!["- list:".to_owned()];
    for item in &given.items {
        let locator = format!("getByText({})", code::quote(item));
        let found = page.playwright_target(&locator, Some(&list.reference), false).await;
        let found = match found {
            Err(error) if error.code == ErrorCode::ElementNotFound => {
                return Ok(Response::error(format!("Item \"{item}\" not found")));
            }
            other => other?,
        };
        let text = page.evaluate_on(&found.reference, "(element) => element.textContent").await?;
        let text = code::quote_with(text.as_str().unwrap_or_default(), '"');
        snapshot.push(format!("  - listitem: {text}"));
    }
    let lines: Vec<String> =
        snapshot.iter().map(|line| format!("  {}\n", code::in_template_literal(line))).collect();
    Ok(Response::text("Done").with_action(format!(
        "await expect(page.locator('body')).toMatchAriaSnapshot(`\n{}  `);",
        lines.concat()
    )))
}

#[derive(Deserialize)]
pub(super) struct ExpectedValue {
    r#type: FieldType,
    target: String,
    value: String,
}

/// Returns the value of a field, or of the field of a label, and whether it is for passwords.
const INPUT_VALUE: &str = r"(element) => {
  const field = element instanceof HTMLLabelElement ? (element.control ?? element) : element
  if (!('value' in field) || !/^(input|textarea|select)$/i.test(field.tagName))
    throw new Error('Node is not an <input>, <textarea> or <select> element')
  return { value: field.value, isPassword: field.type === 'password' }
}";

/// Returns whether a field is checked.
const IS_CHECKED: &str = r"(element) => {
  const field = element instanceof HTMLLabelElement ? (element.control ?? element) : element
  if (field instanceof HTMLInputElement && /^(checkbox|radio)$/.test(field.type))
    return field.checked
  const state = field.getAttribute('aria-checked')
  if (state === null) throw new Error('Not a checkbox or radio button')
  return state === 'true'
}";

pub(super) async fn verify_value(call: PlaywrightCall, given: ExpectedValue) -> Result<Response> {
    let page = call.page().await?;
    let target = call.target(&page, &given.target).await?;
    let expected = &given.value;
    let locator = &target.locator;
    let differs = |found: &str| {
        Ok(Response::error(format!("Expected value \"{expected}\", but got \"{found}\"")))
    };
    let code = match given.r#type {
        FieldType::Textbox | FieldType::Slider | FieldType::Combobox => {
            let found = page.evaluate_on(&target.reference, INPUT_VALUE).await;
            let found = found.map_err(|error| action_error(&call, &target, error))?;
            let (found, is_password) =
                (found["value"].as_str().unwrap_or_default(), found["isPassword"] == true);
            if found != expected {
                return differs(if is_password { "••••" } else { found });
            }
            let assertion = if expected.is_empty() {
                "toBeEmpty()".to_owned()
            } else {
                format!("toHaveValue({})", code::quote(expected))
            };
            format!("await expect(page.{locator}).{assertion};")
        }
        FieldType::Checkbox | FieldType::Radio => {
            let found = page.evaluate_on(&target.reference, IS_CHECKED).await;
            let found = found.map_err(|error| action_error(&call, &target, error))?;
            let checked = found == Value::Bool(true);
            if checked != (expected == "true") {
                return differs(if checked { "true" } else { "false" });
            }
            let not = if checked { "" } else { ".not" };
            format!("await expect(page.{locator}){not}.toBeChecked();")
        }
    };
    Ok(Response::text("Done").with_action(code))
}

#[derive(Deserialize)]
pub(super) struct Highlight {
    element: Option<String>,
    target: String,
    style: Option<String>,
}

/// Draws a box around the element, and removes an earlier one. Pointer events pass through it.
const HIGHLIGHT: &str = r"(element) => {
  for (const earlier of document.querySelectorAll('troupe-highlight'))
    if (earlier.highlighted === element) earlier.remove()
  const overlay = document.createElement('troupe-highlight')
  overlay.setAttribute('aria-hidden', 'true')
  const box = element.getBoundingClientRect()
  overlay.style.cssText =
    `position: fixed; z-index: 2147483647; pointer-events: none; left: ${box.x}px; top: ${box.y}px;` +
    `width: ${box.width}px; height: ${box.height}px; outline: 2px solid #6fa8dc;` +
    `background: #6fa8dc44; ${STYLE}`
  overlay.highlighted = element
  document.documentElement.append(overlay)
}";

const HIDE_HIGHLIGHT: &str = r"(element) => {
  for (const overlay of document.querySelectorAll('troupe-highlight'))
    if (!element || overlay.highlighted === element) overlay.remove()
}";

/// Returns how a result names the target of a call.
fn target_name(element: Option<String>, target: &PlaywrightTarget) -> String {
    let is_ref = target.shown != target.locator;
    element.filter(|_| is_ref).unwrap_or_else(|| target.shown.clone())
}

pub(super) async fn highlight(call: PlaywrightCall, given: Highlight) -> Result<Response> {
    let page = call.page().await?;
    let target = call.target(&page, &given.target).await?;
    let style = Value::from(given.style.unwrap_or_default()).to_string();
    let script = HIGHLIGHT.replace("STYLE", &style);
    page.evaluate_on(&target.reference, &script).await?;
    let name = target_name(given.element, &target);
    Ok(Response::text(format!("Highlighted {name}")))
}

#[derive(Deserialize)]
pub(super) struct HiddenHighlight {
    element: Option<String>,
    target: Option<String>,
}

pub(super) async fn hide_highlight(
    call: PlaywrightCall,
    given: HiddenHighlight,
) -> Result<Response> {
    let page = call.page().await?;
    let Some(name) = given.target.filter(|target| !target.is_empty()) else {
        page.evaluate(HIDE_HIGHLIGHT, &[]).await?;
        return Ok(Response::text("Hid page highlight"));
    };
    let target = call.target(&page, &name).await?;
    page.evaluate_on(&target.reference, HIDE_HIGHLIGHT).await?;
    Ok(Response::text(format!("Hid highlight for {}", target_name(given.element, &target))))
}
