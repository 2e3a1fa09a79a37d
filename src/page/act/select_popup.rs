//! Dropdown lists that a person opens. Their native popups are not part of the page's images.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    engine::FrameId,
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        query::{FrameTransform, MAX_DEPTH, area},
    },
};

/// How long the page may take to return the list at a point. While the page is busy, it would not
/// process the press either.
const POPUP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the selection of an option may take. A dialog of the page ends the wait.
const CHOICE_TIMEOUT: Duration = Duration::from_secs(2);

/// A dropdown list that a person has opened.
#[derive(Debug, Clone)]
pub struct SelectPopup {
    frame: FrameId,
    reference: String,
    pub view: SelectPopupView,
}

/// The list and its options. Positions are in CSS pixels of the viewport.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectPopupView {
    /// The accessible name.
    pub name: String,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub options: Vec<SelectOption>,
    /// The number of options that are not in `options`, because there are too many.
    pub omitted: usize,
}

/// An option of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectOption {
    /// Its index in the list, which may have hidden options.
    pub index: usize,
    pub label: String,
    /// The label of its group.
    pub group: Option<String>,
    pub disabled: bool,
    pub selected: bool,
}

/// The answer of the injected script.
#[derive(Deserialize)]
struct SelectAtAnswer {
    select: Option<FoundSelect>,
    frame: Option<FrameAtPoint>,
}

#[derive(Deserialize)]
struct FoundSelect {
    #[serde(rename = "ref")]
    reference: String,
    name: String,
    #[serde(rename = "box")]
    area: serde_json::Value,
    options: Vec<SelectOption>,
    omitted: usize,
}

#[derive(Deserialize)]
struct FrameAtPoint {
    #[serde(rename = "ref")]
    reference: String,
    matrix: serde_json::Value,
}

impl Page {
    /// Returns the dropdown list that a press at this point of the viewport would open. Without a
    /// point, returns the list with the focus, which a key would open. `None` also if the page does
    /// not respond soon.
    pub async fn select_popup(&self, point: Option<(f64, f64)>) -> Option<SelectPopup> {
        if self.dialog().is_some() {
            return None;
        }
        let found = self.within(POPUP_TIMEOUT, self.find_select(point)).await?;
        // An error means that the document was replaced meanwhile: there is no list to show.
        found.unwrap_or_default()
    }

    async fn find_select(&self, point: Option<(f64, f64)>) -> Result<Option<SelectPopup>> {
        let mut frame = self.main_frame().clone();
        let mut transform = FrameTransform::default();
        for _ in 0..=MAX_DEPTH {
            let answer = match point.map(|point| transform.invert(point)) {
                Some(None) => return Ok(None),
                Some(Some((x, y))) => {
                    self.call_injected_in(&frame, "selectAt", json!({"x": x, "y": y})).await?
                }
                None => self.call_injected_in(&frame, "focusedSelect", json!({})).await?,
            };
            let answer: SelectAtAnswer = serde_json::from_value(answer)
                .map_err(|error| TroupeError::new(ErrorCode::InternalError, error.to_string()))?;
            if let Some(found) = answer.select {
                let shown = transform.bounds(area(&found.area));
                let view = SelectPopupView {
                    name: found.name,
                    x: shown.x,
                    y: shown.y,
                    width: shown.width,
                    height: shown.height,
                    options: found.options,
                    omitted: found.omitted,
                };
                return Ok(Some(SelectPopup { frame, reference: found.reference, view }));
            }
            let Some(inner) = answer.frame else { return Ok(None) };
            let Some(child) = self.content_frame(&frame, &inner.reference).await? else {
                return Ok(None);
            };
            transform = FrameTransform::read(&inner.matrix).then(transform);
            frame = child;
        }
        Ok(None)
    }

    /// Selects an option of a list, and dispatches `input` and `change`. Does not wait for the
    /// effects.
    pub async fn choose_option(&self, popup: &SelectPopup, index: usize) -> Result<()> {
        let Some(option) = popup.view.options.iter().find(|option| option.index == index) else {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the list has no option {index}"),
            ));
        };
        let option = json!({"index": index, "label": option.label});
        let arguments =
            json!({"ref": popup.reference, "values": [], "option": option, "focus": true});
        let chosen = self.call_injected_in(&popup.frame, "select", arguments);
        match self.within(CHOICE_TIMEOUT, chosen).await {
            // The page has received the choice, and its script runs, or shows a dialog.
            None => Ok(()),
            Some(Err(error)) if error.code == ErrorCode::DialogOpen => Ok(()),
            Some(chosen) => chosen.map(drop),
        }
    }
}
