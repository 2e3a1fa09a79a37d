//! Finds the elements of targets of the Playwright tool set: refs of its snapshots, selectors and
//! locators.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    engine::FrameId,
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        query::{MAX_DEPTH, targets::frame_number},
    },
};

/// An element that a target refers to.
#[derive(Debug, Clone)]
pub struct PlaywrightTarget {
    /// The element's ref for native actions.
    pub reference: String,
    /// The number of matches.
    pub count: u64,
    /// The first matches of a selector or locator that has several.
    pub matches: Vec<PlaywrightMatch>,
    /// The Playwright locator of the element, without `page.`
    pub locator: String,
    /// The locator that Playwright's messages show.
    pub shown: String,
    /// The answer of `waitActionable` if that was requested and the element is actionable.
    pub(in crate::page) actionable: Option<Value>,
}

/// One of several elements that a target matches.
#[derive(Debug, Clone, Deserialize)]
pub struct PlaywrightMatch {
    /// The element's tag with its attributes and text.
    pub tag: String,
    /// The locator that Playwright generates for the element.
    pub locator: String,
}

/// The answer of `playwrightTarget` in a frame.
#[derive(Deserialize)]
#[serde(untagged)]
enum FrameAnswer {
    Element {
        r#ref: String,
        count: u64,
        #[serde(default)]
        matches: Vec<PlaywrightMatch>,
        locator: String,
        actionable: Option<Value>,
    },
    /// The rest of the target is in a child frame.
    Inner { frame: String, rest: String, locator: String },
}

/// A search for the element of a target.
#[derive(Default)]
struct TargetQuery<'a> {
    target: &'a str,
    /// The ref in its frame of an element to search in.
    within: Option<String>,
    /// Whether the locator is generated for the element. It always is for refs.
    generate: bool,
    /// Arguments of `waitActionable`, to also check the element if it is in the main frame.
    check: Option<Value>,
}

impl Page {
    /// Returns the prefix of Playwright's refs in `frame`, such as `f1`; empty in the first
    /// document of the main frame.
    pub(in crate::page) fn playwright_prefix(&self, frame: &FrameId) -> String {
        let number =
            self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.playwright_number));
        number.filter(|number| *number > 0).map(|number| format!("f{number}")).unwrap_or_default()
    }

    fn playwright_frame(&self, number: u64) -> Option<FrameId> {
        self.state.read(|facts| {
            let found = facts.frames.iter().find(|(_, frame)| frame.playwright_number == number);
            found.map(|(frame, _)| frame.clone())
        })
    }

    /// Finds the element of `target`: a ref of the last snapshot, a selector, or a locator.
    /// `within`: the native ref of an element to search in. `generate`: returns the locator that
    /// Playwright generates for the element, not that of `target`.
    ///
    /// # Errors
    /// `ELEMENT_NOT_FOUND` if nothing matches. It does not wait.
    pub async fn playwright_target(
        &self,
        target: &str,
        within: Option<&str>,
        generate: bool,
    ) -> Result<PlaywrightTarget> {
        let (frame, within) = match within {
            None => (self.main_frame().clone(), None),
            Some(reference) => {
                let resolved = self.locate(reference).await?;
                (resolved.frame, Some(resolved.target))
            }
        };
        let query = TargetQuery { target, within, generate, ..Default::default() };
        self.playwright_ref_or_target_in(frame, query).await
    }

    /// Finds the element of `target`. If it is the only one and in the main frame, the same call
    /// checks it: `check` contains the arguments of `waitActionable`.
    pub(in crate::page) async fn checked_playwright_target(
        &self,
        target: &str,
        check: Value,
    ) -> Result<PlaywrightTarget> {
        let query = TargetQuery { target, check: Some(check), ..Default::default() };
        self.playwright_ref_or_target_in(self.main_frame().clone(), query).await
    }

    /// Searches in `frame`, unless the target is a ref, which names its frame.
    async fn playwright_ref_or_target_in(
        &self,
        frame: FrameId,
        query: TargetQuery<'_>,
    ) -> Result<PlaywrightTarget> {
        let target = query.target;
        let Some(number) = frame_number(target) else {
            return self.playwright_target_in(frame, query).await;
        };
        let frame = self.playwright_frame(number).ok_or_else(|| not_in_snapshot(target))?;
        let query = TargetQuery { within: None, generate: true, ..query };
        let found = self.playwright_target_in(frame, query).await?;
        self.record_locator(target, &found.locator);
        Ok(PlaywrightTarget { shown: format!("locator('aria-ref={target}')"), ..found })
    }

    /// Finds `target` in the first frame that has a match, and generates its locator.
    pub async fn playwright_target_in_any_frame(
        &self,
        target: &str,
    ) -> Result<Option<PlaywrightTarget>> {
        let mut frames: Vec<FrameId> =
            self.state.read(|facts| facts.frames.keys().cloned().collect());
        frames.sort_by_key(|frame| frame != self.main_frame());
        for frame in frames {
            let query = TargetQuery { target, generate: true, ..Default::default() };
            match self.playwright_target_in(frame, query).await {
                Ok(found) => return Ok(Some(found)),
                Err(error) if error.code == ErrorCode::ElementNotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    async fn playwright_target_in(
        &self,
        mut frame: FrameId,
        query: TargetQuery<'_>,
    ) -> Result<PlaywrightTarget> {
        let TargetQuery { target, mut within, generate, mut check } = query;
        let mut rest = target.to_owned();
        let mut outer = self.outer_locator(&frame).await?;
        for _ in 0..=MAX_DEPTH {
            let mut arguments = self.target_arguments(&frame, &rest, within.take(), generate);
            let call = match check.take().filter(|_| frame == *self.main_frame()) {
                None => "playwrightTarget",
                Some(check) => {
                    arguments["check"] = check;
                    "playwrightClickTarget"
                }
            };
            let answer = self.call_injected_in(&frame, call, arguments).await?;
            match read(answer)? {
                FrameAnswer::Element { r#ref, count, matches, locator, actionable } => {
                    let locator = format!("{outer}{locator}");
                    let matches = matches
                        .into_iter()
                        .map(|PlaywrightMatch { tag, locator }| PlaywrightMatch {
                            tag,
                            locator: format!("{outer}{locator}"),
                        })
                        .collect();
                    return Ok(PlaywrightTarget {
                        reference: r#ref,
                        count,
                        matches,
                        shown: locator.clone(),
                        locator,
                        actionable,
                    });
                }
                FrameAnswer::Inner { frame: owner, rest: inner, locator } => {
                    outer.push_str(&locator);
                    outer.push('.');
                    rest = inner;
                    frame = self
                        .content_frame(&frame, &owner)
                        .await?
                        .ok_or_else(|| no_match(target))?;
                }
            }
        }
        Err(no_match(target))
    }

    fn target_arguments(
        &self,
        frame: &FrameId,
        target: &str,
        within: Option<String>,
        generate: bool,
    ) -> Value {
        let mut arguments = json!({
            "target": target,
            "framePrefix": self.playwright_prefix(frame),
            "generate": generate,
        });
        if let Some(within) = within {
            arguments["within"] = within.into();
        }
        if let Some(attribute) = &self.config.test_id_attribute {
            arguments["testIdAttribute"] = attribute.as_str().into();
        }
        arguments
    }

    /// Returns the locator of the iframes around `frame`, which ends with `.contentFrame().`; empty
    /// for the main frame.
    async fn outer_locator(&self, frame: &FrameId) -> Result<String> {
        let mut outer = String::new();
        for owner in self.owners_of(frame).await? {
            let within = Some(owner.reference);
            let arguments = self.target_arguments(&owner.frame, "", within, true);
            let answer = self.call_injected_in(&owner.frame, "playwrightTarget", arguments).await?;
            if let FrameAnswer::Element { locator, .. } = read(answer)? {
                outer.push_str(&locator);
                outer.push_str(".contentFrame().");
            }
        }
        Ok(outer)
    }
}

fn read(answer: Value) -> Result<FrameAnswer> {
    serde_json::from_value(answer).map_err(|error| {
        TroupeError::new(ErrorCode::InternalError, format!("playwrightTarget: {error}"))
    })
}

fn not_in_snapshot(target: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::ElementNotFound,
        format!("Ref {target} not found in the current page snapshot. Try capturing new snapshot."),
    )
}

fn no_match(target: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::ElementNotFound,
        format!("\"{target}\" does not match any elements."),
    )
}
