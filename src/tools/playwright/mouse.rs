//! The mouse at coordinates of the viewport, in CSS pixels.

use std::time::Duration;

use scopeguard::ScopeGuard;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    call::PlaywrightCall,
    code,
    interaction::{ButtonArgument, point},
    response::Response,
};
use crate::{engine::MouseButton, error::Result};

#[derive(Deserialize)]
pub(super) struct MousePositionArguments {
    x: f64,
    y: f64,
}

pub(super) async fn move_to(
    call: PlaywrightCall,
    given: MousePositionArguments,
) -> Result<Response> {
    let MousePositionArguments { x, y } = given;
    call.page().await?.move_mouse(point(x, y)).await?;
    Ok(Response::default()
        .with_code(format!("// Move mouse to ({x}, {y})"))
        .with_code(format!("await page.mouse.move({x}, {y});")))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MouseClickArguments {
    x: f64,
    y: f64,
    button: Option<ButtonArgument>,
    click_count: Option<f64>,
    delay: Option<f64>,
}

pub(super) async fn click(call: PlaywrightCall, given: MouseClickArguments) -> Result<Response> {
    let MouseClickArguments { x, y, button, click_count, delay } = given;
    let mut options = Map::new();
    options.extend(button.map(|button| ("button".to_owned(), Value::from(button.name()))));
    options.extend(click_count.map(|count| ("clickCount".to_owned(), number(count))));
    options.extend(delay.map(|delay| ("delay".to_owned(), number(delay))));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let clicks = click_count.unwrap_or(1.0).clamp(1.0, 10.0) as u32;
    let delay = Duration::from_millis(delay.unwrap_or(0.0).clamp(0.0, 30_000.0) as u64);
    let button = button.unwrap_or(ButtonArgument::Left).native();
    let page = call.page().await?;
    Box::pin(call.act(page.click_at(point(x, y), button, clicks, delay))).await?;
    let options = code::options(&Value::Object(options));
    let options = if options.is_empty() { options } else { format!(", {options}") };
    Ok(Response::default()
        .with_code(format!("// Click mouse at coordinates ({x}, {y})"))
        .with_code(format!("await page.mouse.click({x}, {y}{options});"))
        .showing_page())
}

/// Returns a number without a fraction as an integer.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MouseDragArguments {
    start_x: f64,
    start_y: f64,
    end_x: f64,
    end_y: f64,
}

pub(super) async fn drag(call: PlaywrightCall, given: MouseDragArguments) -> Result<Response> {
    let MouseDragArguments { start_x, start_y, end_x, end_y } = given;
    let page = call.page().await?;
    let dragging = async {
        page.move_mouse(point(start_x, start_y)).await?;
        // Releases the button also if the call fails or is canceled.
        let release = scopeguard::guard((), |()| page.cancel_press());
        page.press_mouse(MouseButton::Left).await?;
        if page.dialog().is_some() {
            return Ok(());
        }
        page.move_mouse(point(end_x, end_y)).await?;
        ScopeGuard::into_inner(release);
        page.release_mouse(MouseButton::Left).await
    };
    page.run_and_settle(dragging).await?;
    Ok(Response::default()
        .with_code(format!("// Drag mouse from ({start_x}, {start_y}) to ({end_x}, {end_y})"))
        .with_code(format!("await page.mouse.move({start_x}, {start_y});"))
        .with_code("await page.mouse.down();")
        .with_code(format!("await page.mouse.move({end_x}, {end_y});"))
        .with_code("await page.mouse.up();")
        .showing_page())
}

#[derive(Deserialize)]
pub(super) struct Press {
    button: Option<ButtonArgument>,
}

impl Press {
    fn options(&self) -> String {
        let button = self.button.map(|button| json!({"button": button.name()}));
        code::options(&button.unwrap_or_else(|| json!({})))
    }

    fn native(&self) -> MouseButton {
        self.button.unwrap_or(ButtonArgument::Left).native()
    }
}

pub(super) async fn press(call: PlaywrightCall, given: Press) -> Result<Response> {
    call.page().await?.press_mouse(given.native()).await?;
    Ok(Response::default()
        .with_code("// Press mouse down")
        .with_code(format!("await page.mouse.down({});", given.options())))
}

pub(super) async fn release(call: PlaywrightCall, given: Press) -> Result<Response> {
    call.page().await?.release_mouse(given.native()).await?;
    Ok(Response::default()
        .with_code("// Press mouse up")
        .with_code(format!("await page.mouse.up({});", given.options())))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wheel {
    delta_x: f64,
    delta_y: f64,
}

pub(super) async fn wheel(call: PlaywrightCall, given: Wheel) -> Result<Response> {
    let Wheel { delta_x, delta_y } = given;
    call.page().await?.turn_wheel(point(delta_x, delta_y)).await?;
    Ok(Response::default()
        .with_code("// Scroll mouse wheel")
        .with_code(format!("await page.mouse.wheel({delta_x}, {delta_y});")))
}
