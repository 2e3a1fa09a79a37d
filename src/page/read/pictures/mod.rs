//! Screenshots of a page or an element.
//!
//! This file queries the page (the positions of elements and refs). `codec`, `draw` and `compare`
//! work on pixels only. `small` takes the pictures of the record.

mod codec;
mod compare;
mod draw;
mod small;

use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use serde_json::json;

use crate::{
    engine::{Area, FrameId, ScreenshotOptions, World},
    error::Result,
    page::{
        Page,
        query::{ActionabilityQuery, FrameTransform, MAX_DEPTH, area, point_in},
    },
};

pub use codec::{decode, dimensions, encode, scaled, webp};
pub use compare::{Difference, Region, compare, mark};
pub use draw::annotate;

/// The positions of a page's refs on an image.
#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// Boxes in CSS pixels from the top left corner of the image.
    pub boxes: Vec<(String, Area)>,
    /// Image pixels per CSS pixel.
    pub pixel_ratio: f64,
}

/// The position of a frame in the image.
#[derive(Clone, Copy, Default)]
struct FrameView {
    /// Maps the frame's viewport to the image.
    transform: FrameTransform,
    /// The visible part, in the image. `None`: all of it.
    visible: Option<Area>,
}

impl Page {
    /// Takes a screenshot of the page. Returns base64.
    pub async fn screenshot(&self, shot: ScreenshotOptions) -> Result<String> {
        self.guarded(self.engine.screenshot(shot)).await
    }

    /// Prints the page to PDF. Returns base64.
    pub async fn pdf(&self) -> Result<String> {
        self.guarded_for(Duration::MAX, self.engine.pdf()).await
    }

    /// Scrolls the element that `target` refers to into view and takes a screenshot of it.
    pub async fn screenshot_of(
        &self,
        target: &str,
        shot: ScreenshotOptions,
        timeout: Duration,
    ) -> Result<String> {
        let query = ActionabilityQuery::new(
            target,
            json!({"action": "screenshot", "strict": false}),
            timeout,
        );
        let search = self.in_one_document(|| Box::pin(self.area_of(target, &query)));
        let (clip, outside) =
            self.within(timeout + Duration::from_secs(2), search).await.ok_or_else(|| {
                self.timed_out(
                    &format!("`{target}` could not be found: the page did not respond"),
                    timeout,
                )
            })??;
        self.screenshot(ScreenshotOptions { clip: Some(clip), full_page: outside, ..shot }).await
    }

    /// Returns the element's box in the main document, and whether a part of it is outside of the
    /// viewport.
    async fn area_of(&self, target: &str, query: &ActionabilityQuery) -> Result<(Area, bool)> {
        let resolved = self.locate(target).await?;
        let mut arguments = query.arguments();
        arguments["target"] = resolved.target.into();
        let answer = self.call_injected_in(&resolved.frame, "waitActionable", arguments).await?;
        let reached = self.reach_through(&resolved.owners, query, point_in(&answer)).await?;
        let Area { x, y, width, height } = reached.transform.bounds(area(&answer["box"]));
        let view = "[scrollX, scrollY, innerWidth, innerHeight]";
        let view =
            self.guarded(self.engine.evaluate(self.main_frame(), World::Isolated, view)).await?;
        let view = |index: usize| view[index].as_f64().unwrap_or_default();
        let outside = x < 0.0 || y < 0.0 || x + width > view(2) + 0.5 || y + height > view(3) + 0.5;
        // Rounds to whole pixels, so that the image is not blurred, and clamps to the document.
        let (left, top) = ((x + view(0)).floor().max(0.0), (y + view(1)).floor().max(0.0));
        let width = ((x + view(0) + width).ceil() - left).max(1.0);
        let height = ((y + view(1) + height).ceil() - top).max(1.0);
        Ok((Area { x: left, y: top, width, height }, outside))
    }

    /// Returns the positions of the refs in the viewport, or in the `whole` document.
    pub async fn annotations(&self, whole: bool) -> Result<Annotations> {
        self.in_one_document(|| {
            Box::pin(async move {
                self.annotate_frame(self.main_frame().clone(), FrameView::default(), whole, 0).await
            })
        })
        .await
    }

    fn annotate_frame<'a>(
        &'a self,
        frame: FrameId,
        mut view: FrameView,
        whole: bool,
        depth: usize,
    ) -> BoxFuture<'a, Result<Annotations>> {
        Box::pin(async move {
            let answer = self
                .call_injected_if_responsive(
                    &frame,
                    "annotations",
                    json!({"whole": whole && depth == 0}),
                )
                .await?;
            let pixel_ratio = answer["pixelRatio"].as_f64().unwrap_or(1.0);
            if depth == 0 && whole {
                let (x, y) = point_in(&answer["scroll"]);
                view.transform = FrameTransform::translation(x, y);
            }
            let mut found = Annotations { boxes: Vec::new(), pixel_ratio };
            for entry in answer["boxes"].as_array().into_iter().flatten() {
                let reference = entry["ref"].as_str().unwrap_or_default().to_owned();
                found
                    .boxes
                    .extend(view.visible_area(area(&entry["box"])).map(|area| (reference, area)));
            }
            if depth == MAX_DEPTH {
                return Ok(found);
            }
            let frames = answer["frames"].as_array().into_iter().flatten().filter_map(|entry| {
                let inner = FrameView {
                    transform: FrameTransform::read(&entry["matrix"]).then(view.transform),
                    visible: view.visible,
                };
                let visible = inner.visible_area(Area { x: 0.0, y: 0.0, ..area(entry) })?;
                Some((
                    entry["ref"].as_str().unwrap_or_default(),
                    FrameView { visible: Some(visible), ..inner },
                ))
            });
            let inner = join_all(frames.map(async |(reference, view)| {
                let child = self.content_frame(&frame, reference).await.ok()??;
                self.annotate_frame(child, view, whole, depth + 1).await.ok()
            }));
            // A frame that was removed meanwhile has no refs.
            for annotations in inner.await.into_iter().flatten() {
                found.boxes.extend(annotations.boxes);
            }
            Ok(found)
        })
    }
}

impl FrameView {
    /// Maps a box of the frame to the outer viewport; `None` if it is not visible.
    fn visible_area(&self, area: Area) -> Option<Area> {
        let bounds = self.transform.bounds(area);
        let Some(visible) = self.visible else { return Some(bounds) };
        let Area { x: left, y: top, width, height } = bounds;
        let (right, bottom) = (
            (left + width).min(visible.x + visible.width),
            (top + height).min(visible.y + visible.height),
        );
        let (left, top) = (left.max(visible.x), top.max(visible.y));
        (right - left >= 1.0 && bottom - top >= 1.0).then_some(Area {
            x: left,
            y: top,
            width: right - left,
            height: bottom - top,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_in_a_frame_is_clipped_to_the_visible_part_of_the_frame() {
        let visible = Area { x: 10.0, y: 10.0, width: 100.0, height: 50.0 };
        let view = FrameView {
            transform: FrameTransform::translation(10.0, 10.0),
            visible: Some(visible),
        };
        let placed = view.visible_area(Area { x: 90.0, y: -5.0, width: 40.0, height: 20.0 });
        assert_eq!(placed, Some(Area { x: 100.0, y: 10.0, width: 10.0, height: 15.0 }));
        assert_eq!(view.visible_area(Area { x: 0.0, y: 60.0, width: 40.0, height: 20.0 }), None);
    }
}
