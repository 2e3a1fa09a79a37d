//! Pictures of a page: of an element, with the refs drawn on it, or compared with an earlier one.
//!
//! Here is what the page is asked for (where an element is in the document, where the refs stand); `codec`,
//! `draw` and `compare` know pixels only.

mod codec;
mod compare;
mod draw;

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Page,
    frames::{MAX_DEPTH, Owner},
};
use crate::{
    engine::{Area, FrameId, Shot, World},
    error::Result,
};

pub use codec::{decode, dimensions, encode};
pub use compare::{Difference, Region, compare, mark};
pub use draw::annotate;

/// Where the refs of a page stand on a picture of it.
#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// CSS pixels from the top left corner of the picture.
    pub boxes: Vec<(String, Area)>,
    /// Pixels of the picture for one CSS pixel.
    pub pixel_ratio: f64,
}

/// The part of a frame that can be seen, and where the frame's content begins, in the main frame's viewport.
#[derive(Clone, Copy)]
struct Pane {
    x: f64,
    y: f64,
    seen: Option<Area>,
}

impl Page {
    /// A picture of the page, base64.
    pub async fn screenshot(&self, shot: Shot) -> Result<String> {
        self.alive(self.engine.screenshot(shot)).await
    }

    /// The page as it would be printed, base64.
    pub async fn pdf(&self) -> Result<String> {
        self.alive_for(Duration::MAX, self.engine.pdf()).await
    }

    /// Brings the element that `target` means into view and takes a picture of it.
    pub async fn screenshot_of(&self, target: &str, shot: Shot, timeout: Duration) -> Result<String> {
        let deadline = Instant::now() + timeout;
        let looking = self.in_one_document(|| Box::pin(self.area_of(target, deadline)));
        let (clip, outside) =
            self.within(timeout + Duration::from_secs(2), looking).await.ok_or_else(|| {
                self.timed_out(
                    &format!("`{target}` could not be looked for: the page did not answer"),
                    timeout,
                )
            })??;
        self.screenshot(Shot { clip: Some(clip), full_page: outside, ..shot }).await
    }

    /// The element's box in the main document, and whether part of it is outside of the viewport.
    async fn area_of(&self, target: &str, deadline: Instant) -> Result<(Area, bool)> {
        let place = self.locate(target).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let arguments = json!({
            "target": place.target, "action": "screenshot", "strict": false,
            "timeout": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        });
        let answer = self.inject_in(&place.frame, "waitActionable", arguments).await?;
        let found = area(&answer["box"]);
        let (x, y) = self.to_viewport(&place.owners, found.x, found.y, true).await?;
        let view = "[scrollX, scrollY, innerWidth, innerHeight]";
        let view = self.alive(self.engine.evaluate(self.main_frame(), World::Isolated, view)).await?;
        let view = |index: usize| view[index].as_f64().unwrap_or_default();
        let outside =
            x < 0.0 || y < 0.0 || x + found.width > view(2) + 0.5 || y + found.height > view(3) + 0.5;
        // Whole pixels, so that nothing is blurred; the document begins at 0.
        let (left, top) = ((x + view(0)).floor().max(0.0), (y + view(1)).floor().max(0.0));
        let width = ((x + view(0) + found.width).ceil() - left).max(1.0);
        let height = ((y + view(1) + found.height).ceil() - top).max(1.0);
        Ok((Area { x: left, y: top, width, height }, outside))
    }

    /// Where the refs stand, in the viewport or in the `whole` document.
    pub async fn annotations(&self, whole: bool) -> Result<Annotations> {
        self.in_one_document(|| {
            Box::pin(async move {
                let mut found = Annotations { boxes: Vec::new(), pixel_ratio: 1.0 };
                let pane = Pane { x: 0.0, y: 0.0, seen: None };
                let main = self.main_frame().clone();
                self.annotate_frame(main, pane, whole, 0, &mut found).await?;
                Ok(found)
            })
        })
        .await
    }

    fn annotate_frame<'a>(
        &'a self,
        frame: FrameId,
        mut pane: Pane,
        whole: bool,
        depth: usize,
        found: &'a mut Annotations,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let answer = self.inject_in(&frame, "annotations", json!({"whole": whole && depth == 0})).await?;
            if depth == 0 {
                found.pixel_ratio = answer["pixelRatio"].as_f64().unwrap_or(1.0);
                if whole {
                    pane.x = answer["scroll"]["x"].as_f64().unwrap_or_default();
                    pane.y = answer["scroll"]["y"].as_f64().unwrap_or_default();
                }
            }
            for entry in answer["boxes"].as_array().into_iter().flatten() {
                let reference = entry["ref"].as_str().unwrap_or_default().to_owned();
                found.boxes.extend(pane.place(area(&entry["box"])).map(|area| (reference, area)));
            }
            if depth == MAX_DEPTH {
                return Ok(());
            }
            for entry in answer["frames"].as_array().into_iter().flatten() {
                let reference = entry["ref"].as_str().unwrap_or_default();
                let Some(seen) = pane.place(area(&entry["box"])) else { continue };
                // A frame that goes away meanwhile has no refs.
                if let Ok(Some(child)) = self.content_frame(&frame, reference).await {
                    let inner = area(&entry["box"]);
                    let pane = Pane { x: pane.x + inner.x, y: pane.y + inner.y, seen: Some(seen) };
                    let _ = self.annotate_frame(child, pane, whole, depth + 1, found).await;
                }
            }
            Ok(())
        })
    }

    /// Where the content of the innermost of `owners` begins in the viewport; nothing is scrolled.
    pub(super) async fn offset(&self, owners: &[Owner]) -> Result<(f64, f64)> {
        let (mut x, mut y) = (0.0, 0.0);
        for owner in owners {
            let script = format!(
                "(() => {{ const frame = __troupe.element({}), box = frame.getBoundingClientRect(), \
                 style = getComputedStyle(frame); return [box.left + frame.clientLeft + parseFloat(style.paddingLeft), \
                 box.top + frame.clientTop + parseFloat(style.paddingTop)]; }})()",
                json!(owner.reference)
            );
            let offset = self.alive(self.engine.evaluate(&owner.frame, World::Isolated, &script)).await?;
            x += offset[0].as_f64().unwrap_or_default();
            y += offset[1].as_f64().unwrap_or_default();
        }
        Ok((x, y))
    }
}

impl Pane {
    /// A box of the frame as it is seen from outside; `None` where nothing of it is.
    fn place(&self, Area { x, y, width, height }: Area) -> Option<Area> {
        let (left, top) = (x + self.x, y + self.y);
        let Some(seen) = self.seen else { return Some(Area { x: left, y: top, width, height }) };
        let (right, bottom) =
            ((left + width).min(seen.x + seen.width), (top + height).min(seen.y + seen.height));
        let (left, top) = (left.max(seen.x), top.max(seen.y));
        (right - left >= 1.0 && bottom - top >= 1.0).then_some(Area {
            x: left,
            y: top,
            width: right - left,
            height: bottom - top,
        })
    }
}

pub(super) fn area(value: &Value) -> Area {
    let number = |name: &str| value[name].as_f64().unwrap_or_default();
    Area { x: number("x"), y: number("y"), width: number("width"), height: number("height") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_in_a_frame_is_cut_to_what_the_frame_shows() {
        let seen = Area { x: 10.0, y: 10.0, width: 100.0, height: 50.0 };
        let pane = Pane { x: 10.0, y: 10.0, seen: Some(seen) };
        let placed = pane.place(Area { x: 90.0, y: -5.0, width: 40.0, height: 20.0 });
        assert_eq!(placed, Some(Area { x: 100.0, y: 10.0, width: 10.0, height: 15.0 }));
        assert_eq!(pane.place(Area { x: 0.0, y: 60.0, width: 40.0, height: 20.0 }), None);
    }
}
