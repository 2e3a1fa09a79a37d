//! Compares two images: counts and locates the different pixels, and marks them.
//!
//! A pixel counts as changed if its color differs visibly, as in pixelmatch (YIQ distance over a
//! tenth), unless it belongs to an anti-aliased edge: letters are anti-aliased differently when a
//! line moves by a fraction of a pixel. <https://github.com/mapbox/pixelmatch>

use image::{Rgba, RgbaImage};
use schemars::JsonSchema;
use serde::Serialize;

use super::draw::{Rectangle, outline};

/// Minimum color distance of a changed pixel, as a fraction of the maximum distance.
const THRESHOLD: f64 = 0.1;
/// The maximum of [`distance`].
const MAX_DISTANCE: f64 = 35_215.0;
/// Side of the cells, in pixels. Adjacent cells with changed pixels form a region.
const CELL: u32 = 16;
/// The color of the boxes around changed regions.
const MARK: [u8; 3] = [230, 0, 0];
/// Maximum number of reported regions, the largest first.
const MAX_REGIONS: usize = 50;

/// A changed area of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Region {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

#[derive(Debug, Clone)]
pub struct Difference {
    pub changed: u64,
    pub total: u64,
    /// The regions, the largest first.
    pub regions: Vec<Region>,
}

impl Difference {
    /// Returns the percentage of changed pixels, with three decimals. Not 0 if a pixel has changed.
    pub fn percentage(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "pixels of a picture")]
        let share = self.changed as f64 / self.total.max(1) as f64 * 100.0;
        let rounded = (share * 1000.0).round() / 1000.0;
        if self.changed > 0 { rounded.max(0.001) } else { rounded }
    }
}

/// Compares two images. Pixels outside of one of them count as changed.
pub fn compare(before: &RgbaImage, after: &RgbaImage) -> Difference {
    let (width, height) = (before.width().max(after.width()), before.height().max(after.height()));
    let (columns, rows) = (width.div_ceil(CELL), height.div_ceil(CELL));
    let mut cells: Vec<Option<Region>> = vec![None; columns as usize * rows as usize];
    let mut changed = 0;
    for y in 0..height {
        for x in 0..width {
            if !differs(before, after, x, y) {
                continue;
            }
            changed += 1;
            let cell = &mut cells[((y / CELL) * columns + x / CELL) as usize];
            let pixel = Region { x, y, width: 1, height: 1 };
            *cell = Some(cell.map_or(pixel, |region| union(region, pixel)));
        }
    }
    let mut regions = join(cells, columns, rows);
    regions.sort_by_key(|region| {
        std::cmp::Reverse(u64::from(region.width) * u64::from(region.height))
    });
    regions.truncate(MAX_REGIONS);
    Difference { changed, total: u64::from(width) * u64::from(height), regions }
}

/// Draws a box around each changed region.
pub fn mark(picture: &mut RgbaImage, regions: &[Region]) {
    for region in regions {
        let [x, y, width, height] =
            [region.x, region.y, region.width, region.height].map(i64::from);
        outline(
            picture,
            Rectangle { x: x - 3, y: y - 3, width: width + 6, height: height + 6 },
            2,
            MARK,
        );
    }
}

fn union(one: Region, other: Region) -> Region {
    let (x, y) = (one.x.min(other.x), one.y.min(other.y));
    let right = (one.x + one.width).max(other.x + other.width);
    let bottom = (one.y + one.height).max(other.y + other.height);
    Region { x, y, width: right - x, height: bottom - y }
}

/// Joins adjacent cells, also diagonal ones, into regions.
fn join(mut cells: Vec<Option<Region>>, columns: u32, rows: u32) -> Vec<Region> {
    let mut regions = Vec::new();
    for start in 0..cells.len() {
        let Some(mut region) = cells[start].take() else { continue };
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let (column, row) = (at as u32 % columns, at as u32 / columns);
            for row in row.saturating_sub(1)..=(row + 1).min(rows - 1) {
                for column in column.saturating_sub(1)..=(column + 1).min(columns - 1) {
                    let beside = (row * columns + column) as usize;
                    if let Some(other) = cells[beside].take() {
                        region = union(region, other);
                        open.push(beside);
                    }
                }
            }
        }
        regions.push(region);
    }
    regions
}

fn differs(before: &RgbaImage, after: &RgbaImage, x: u32, y: u32) -> bool {
    let (Some(one), Some(other)) = (before.get_pixel_checked(x, y), after.get_pixel_checked(x, y))
    else {
        return true;
    };
    // Distances are squared.
    if one == other || distance(one, other) <= MAX_DISTANCE * THRESHOLD * THRESHOLD {
        return false;
    }
    !(is_anti_aliased(before, after, x, y) || is_anti_aliased(after, before, x, y))
}

/// Returns the squared distance of two colors on white (Kotsarenko and Ramos, 2010).
fn distance(one: &Rgba<u8>, other: &Rgba<u8>) -> f64 {
    let [red, green, blue] =
        [0, 1, 2].map(|channel| on_white(one, channel) - on_white(other, channel));
    let y = red * 0.298_895_31 + green * 0.586_622_47 + blue * 0.114_482_23;
    let i = red * 0.595_977_99 - green * 0.274_171_60 - blue * 0.321_806_39;
    let q = red * 0.211_470_17 - green * 0.522_617_11 + blue * 0.311_146_94;
    0.5053 * y * y + 0.299 * i * i + 0.1957 * q * q
}

fn on_white(pixel: &Rgba<u8>, channel: usize) -> f64 {
    let alpha = f64::from(pixel[3]) / 255.0;
    255.0 + (f64::from(pixel[channel]) - 255.0) * alpha
}

fn brightness(pixel: &Rgba<u8>) -> f64 {
    let [red, green, blue] = [0, 1, 2].map(|channel| on_white(pixel, channel));
    red * 0.298_895_31 + green * 0.586_622_47 + blue * 0.114_482_23
}

/// Returns whether a pixel belongs to an anti-aliased edge: few neighbors are similar, and both the
/// darkest and the brightest one lie in a uniform area of both images (Vyšniauskas, 2009).
fn is_anti_aliased(picture: &RgbaImage, other: &RgbaImage, x: u32, y: u32) -> bool {
    let here = brightness(picture.get_pixel(x, y));
    let (mut darkest, mut brightest) = ((0.0, x, y), (0.0, x, y));
    let mut equal_neighbors = 0;
    for (column, row) in neighbors(picture, x, y) {
        let step = brightness(picture.get_pixel(column, row)) - here;
        if step == 0.0 {
            equal_neighbors += 1;
            if equal_neighbors > 2 {
                return false;
            }
        } else if step < darkest.0 {
            darkest = (step, column, row);
        } else if step > brightest.0 {
            brightest = (step, column, row);
        }
    }
    if darkest.0 == 0.0 || brightest.0 == 0.0 {
        return false;
    }
    [darkest, brightest].iter().any(|(_, column, row)| {
        is_uniform(picture, *column, *row) && is_uniform(other, *column, *row)
    })
}

/// Returns whether at least three neighbors have exactly the same color.
fn is_uniform(picture: &RgbaImage, x: u32, y: u32) -> bool {
    let Some(here) = picture.get_pixel_checked(x, y) else { return false };
    neighbors(picture, x, y)
        .filter(|(column, row)| picture.get_pixel(*column, *row) == here)
        .count()
        >= 3
}

fn neighbors(picture: &RgbaImage, x: u32, y: u32) -> impl Iterator<Item = (u32, u32)> {
    let (right, bottom) = ((x + 1).min(picture.width() - 1), (y + 1).min(picture.height() - 1));
    (y.saturating_sub(1)..=bottom)
        .flat_map(move |row| (x.saturating_sub(1)..=right).map(move |column| (column, row)))
        .filter(move |position| *position != (x, y))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([250, 250, 250, 255]))
    }

    fn with_block(mut picture: RgbaImage, block: Region) -> RgbaImage {
        for y in block.y..block.y + block.height {
            for x in block.x..block.x + block.width {
                picture.put_pixel(x, y, Rgba([0, 0, 0, 255]));
            }
        }
        picture
    }

    #[test]
    fn equal_images_have_no_difference() {
        let difference = compare(&plain(40, 30), &plain(40, 30));
        assert_eq!((difference.percentage(), difference.regions.len()), (0.0, 0));
    }

    #[test]
    fn a_changed_block_is_reported_with_its_percentage_and_position() {
        let block = Region { x: 30, y: 10, width: 20, height: 10 };
        let difference = compare(&plain(100, 100), &with_block(plain(100, 100), block));
        assert_eq!((difference.changed, difference.percentage()), (200, 2.0));
        assert_eq!(difference.regions, [block]);
    }

    #[test]
    fn separate_blocks_are_separate_regions() {
        let far = Region { x: 80, y: 80, width: 5, height: 5 };
        let near = Region { x: 2, y: 2, width: 10, height: 10 };
        let after = with_block(with_block(plain(100, 100), far), near);
        assert_eq!(compare(&plain(100, 100), &after).regions, [near, far]);
    }

    #[test]
    fn an_invisible_color_difference_is_not_a_change() {
        let mut after = plain(10, 10);
        after.put_pixel(5, 5, Rgba([246, 248, 250, 255]));
        assert_eq!(compare(&plain(10, 10), &after).changed, 0);
    }

    #[test]
    fn an_anti_aliased_edge_is_not_a_change() {
        let edge = |step: u8| {
            let mut picture =
                with_block(plain(20, 20), Region { x: 0, y: 0, width: 10, height: 20 });
            for y in 0..20 {
                // The pixel gets brighter downwards, as at the edge of a slanted line.
                let value = step + 2 * u8::try_from(y).unwrap();
                picture.put_pixel(10, y, Rgba([value, value, value, 255]));
            }
            picture
        };
        assert_eq!(compare(&edge(90), &edge(170)).changed, 0);
    }

    #[test]
    fn pixels_outside_of_one_image_have_changed() {
        let difference = compare(&plain(10, 10), &plain(10, 20));
        assert_eq!((difference.changed, difference.percentage()), (100, 50.0));
        assert_eq!(difference.regions, [Region { x: 0, y: 10, width: 10, height: 10 }]);
    }

    #[test]
    fn one_changed_pixel_is_more_than_zero_percent() {
        let difference = Difference { changed: 1, total: 10_000_000, regions: Vec::new() };
        assert_eq!(difference.percentage(), 0.001);
    }
}
