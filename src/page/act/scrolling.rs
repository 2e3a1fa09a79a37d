//! Scrolls by script, or with the mouse wheel.

use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        act::{ActionOutcome, PointerTarget},
        query::{FrameElement, MAX_DEPTH, ResolvedTarget, point_in},
    },
};

/// The target of a scroll, and the distance in CSS pixels. Without a distance, the target is
/// brought into view.
#[derive(Debug, Clone)]
pub struct ScrollOptions {
    pub target: PointerTarget,
    pub x: Option<f64>,
    pub y: Option<f64>,
}

impl Page {
    /// Scrolls the target by script, or its nearest ancestor that moves. If there is none,
    /// dispatches wheel events there. Fails if nothing moves.
    pub async fn scroll(&self, options: &ScrollOptions) -> Result<ActionOutcome> {
        let PointerTarget { selector, position } = &options.target;
        let mut resolved = self.locate(selector.as_deref().unwrap_or("")).await?;
        let mut arguments = json!({});
        if selector.is_some() {
            arguments["target"] = resolved.target.as_str().into();
        }
        if let Some(position) = position {
            arguments["position"] = position.argument();
        }
        for (name, value) in [("x", options.x), ("y", options.y)] {
            if let Some(value) = value {
                arguments[name] = value.into();
            }
        }
        let mut message = String::new();
        let mut done = self
            .act(String::new(), &resolved.frame.clone(), async |mark| {
                let mut scrolled =
                    self.call_injected_in(&resolved.frame, "scroll", arguments.clone()).await?;
                // The child frame at this point scrolls instead.
                while let Some(inner) = self.frame_to_scroll(&mut resolved, &scrolled).await? {
                    resolved.frame = inner;
                    let by = json!({"x": options.x, "y": options.y});
                    scrolled = self.call_injected_in(&resolved.frame, "scroll", by).await?;
                }
                message = scrolled["description"].as_str().unwrap_or("the page").to_owned();
                let at = |name: &str| scrolled[name].as_f64().unwrap_or_default();
                let extent = format!("{}, {} of {}, {}", at("x"), at("y"), at("maxX"), at("maxY"));
                if scrolled["moved"] == true {
                    message.push_str(&format!(" to {extent}"));
                    return Ok(());
                }
                let transform = self.transform_of(&resolved.owners).await?;
                let point = transform.apply(point_in(&scrolled["point"]));
                let by = (options.x.unwrap_or_default(), options.y.unwrap_or_default());
                self.input(mark, self.engine.wheel(point, by)).await?;
                let wheeled =
                    self.call_injected_in(&resolved.frame, "wheelEffect", json!({})).await?;
                if wheeled["moved"] != true {
                    return Err(nothing_moved(&message, &extent));
                }
                message.push_str(" by the mouse wheel");
                Ok(())
            })
            .await?;
        done.element = message;
        Ok(done)
    }

    /// Returns the child frame at the point to scroll at, if nothing moved there. Adds its iframe
    /// to `resolved`.
    async fn frame_to_scroll(
        &self,
        resolved: &mut ResolvedTarget,
        scrolled: &Value,
    ) -> Result<Option<crate::engine::FrameId>> {
        let Some(reference) =
            scrolled["frame"].as_str().filter(|_| resolved.owners.len() < MAX_DEPTH)
        else {
            return Ok(None);
        };
        let inner = self.content_frame(&resolved.frame, reference).await?;
        if inner.is_some() {
            resolved.owners.push(FrameElement {
                frame: resolved.frame.clone(),
                reference: reference.to_owned(),
            });
        }
        Ok(inner)
    }
}

fn nothing_moved(what: &str, extent: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::ElementNotClickable,
        format!("nothing scrolled: {what} is at {extent}, and the page does not react to the mouse wheel there"),
    )
    .detail("reason", "not scrollable")
    .suggestion("if another part of the page scrolls, pass the `selector` of an element in it")
}
