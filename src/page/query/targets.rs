//! Finds the frame that a target refers to.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::{
    engine::FrameId,
    error::{ErrorCode, Result, TroupeError},
    page::{Page, query::FrameTransform},
};

/// Maximum nesting depth of frames. Deeper ones are left out.
pub(in crate::page) const MAX_DEPTH: usize = 6;

/// An iframe on the path from the main frame to a target: its parent frame, and its ref there.
#[derive(Debug, Clone)]
pub(in crate::page) struct FrameElement {
    pub frame: FrameId,
    pub reference: String,
}

/// A target and the frame that it is in.
#[derive(Debug, Clone)]
pub(in crate::page) struct ResolvedTarget {
    pub frame: FrameId,
    /// The iframes on the path to the frame, from the main frame inwards.
    pub owners: Vec<FrameElement>,
    /// The rest of the target, which refers to an element in the frame.
    pub target: String,
}

/// Returns the number of the frame in a ref (`f2e7` → 2), or 0 for a ref of the main frame. `None`
/// if it is not a ref.
pub(super) fn frame_number(target: &str) -> Option<u64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = target.strip_prefix('e') {
        return digits(rest).then_some(0);
    }
    let (frame, element) = target.strip_prefix('f')?.split_once('e')?;
    if digits(frame) && digits(element) { frame.parse().ok() } else { None }
}

impl Page {
    /// Finds the frame that `target` is in.
    pub(in crate::page) async fn locate(&self, target: &str) -> Result<ResolvedTarget> {
        let main = self.main_frame().clone();
        if let Some(number) = frame_number(target).filter(|number| *number > 0) {
            let frame = self.frame_of_number(number).ok_or_else(|| {
                if number < self.refs.frames.load(Ordering::Acquire) {
                    stale(target)
                } else {
                    unknown(target)
                }
            })?;
            let owners = self.owners_of(&frame).await?;
            return Ok(ResolvedTarget { frame, owners, target: target.to_owned() });
        }
        let mut resolved =
            ResolvedTarget { frame: main, owners: Vec::new(), target: target.to_owned() };
        let mut parts: Vec<&str> = target.split(" >>> ").map(str::trim).collect();
        resolved.target = parts.pop().unwrap_or_default().to_owned();
        for part in parts {
            let arguments = json!({"target": part, "strict": true});
            let found = self.call_injected_in(&resolved.frame, "resolve", arguments).await?;
            let reference = found["ref"].as_str().unwrap_or_default().to_owned();
            let inner =
                self.content_frame(&resolved.frame, &reference).await?.ok_or_else(|| {
                    let description = found["description"].as_str().unwrap_or("something else");
                    // An iframe without a frame was removed from the page meanwhile.
                    if description.starts_with("iframe ") {
                        return stale(&reference);
                    }
                    let what = format!(
                        "`{part}` is {description}, not a frame: ` >>> ` only enters frames"
                    );
                    TroupeError::new(ErrorCode::InvalidSelector, what).detail("selector", target)
                })?;
            resolved.owners.push(FrameElement { frame: resolved.frame, reference });
            resolved.frame = inner;
        }
        Ok(resolved)
    }

    /// Returns the iframes around `frame`, from the main frame inwards.
    pub(in crate::page) async fn owners_of(&self, frame: &FrameId) -> Result<Vec<FrameElement>> {
        let mut owners = Vec::new();
        let mut inner = frame.clone();
        while inner != *self.main_frame() && owners.len() <= MAX_DEPTH {
            let parent = self
                .state
                .read(|facts| facts.frames.get(&inner).and_then(|frame| frame.parent.clone()))
                .ok_or_else(removed_frame)?;
            let reference = self.frame_owner(&parent, &inner).await?.ok_or_else(removed_frame)?;
            owners.push(FrameElement { frame: parent.clone(), reference });
            inner = parent;
        }
        owners.reverse();
        Ok(owners)
    }

    /// Returns the current transform from the innermost frame's viewport to the page's.
    pub(in crate::page) async fn transform_of(
        &self,
        owners: &[FrameElement],
    ) -> Result<FrameTransform> {
        let mut transform = FrameTransform::default();
        for owner in owners.iter().rev() {
            let answer = self
                .call_injected_in(&owner.frame, "frameMatrix", json!({"ref": owner.reference}))
                .await?;
            transform = transform.then(FrameTransform::read(&answer["matrix"]));
        }
        Ok(transform)
    }
}

fn stale(what: &str) -> TroupeError {
    stale_because(format!("`{what}` is in a frame whose document was replaced or removed"))
}

fn removed_frame() -> TroupeError {
    stale_because("the frame of the target was removed from the page".to_owned())
}

fn stale_because(message: String) -> TroupeError {
    TroupeError::new(ErrorCode::ElementNotFound, message)
        .detail("reason", "stale")
        .suggestion("call `snapshot`: it shows the current refs")
}

fn unknown(reference: &str) -> TroupeError {
    TroupeError::new(ErrorCode::ElementNotFound, format!("no element has the ref `{reference}`"))
        .detail("reason", "unknown")
        .suggestion("call `snapshot`: it shows the refs of the page's elements")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_distinguished_from_other_targets() {
        for (target, number) in [
            ("e1", Some(0)),
            ("e", None),
            ("f2e7", Some(2)),
            ("f2e", None),
            ("fe7", None),
            ("em", None),
            ("f2", None),
            ("#e5", None),
            ("fieldset", None),
            ("f99999999999999999999e1", None),
        ] {
            assert_eq!(frame_number(target), number, "{target}");
        }
    }
}
