//! Draws boxes and the refs of a snapshot on images.

use font8x8::{BASIC_FONTS, UnicodeFonts};
use image::{Rgba, RgbaImage};

use super::Annotations;
use crate::engine::Area;

/// Colors that are dark enough for white letters, and distinguishable from each other.
const COLORS: [[u8; 3]; 6] =
    [[200, 0, 0], [0, 90, 200], [0, 120, 40], [140, 0, 160], [170, 85, 0], [0, 110, 120]];
const WHITE: [u8; 3] = [255, 255, 255];
/// Width and height of a letter of the font, in dots.
const LETTER: i64 = 8;

/// A rectangle in pixels of an image. It may extend outside of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rectangle {
    pub x: i64,
    pub y: i64,
    pub width: i64,
    pub height: i64,
}

impl Rectangle {
    #[expect(clippy::cast_possible_truncation, reason = "pixels of a picture")]
    fn of(area: Area, ratio: f64) -> Self {
        let [x, y] = [area.x, area.y].map(|length| (length * ratio).floor() as i64);
        let right = ((area.x + area.width) * ratio).ceil() as i64;
        let bottom = ((area.y + area.height) * ratio).ceil() as i64;
        Self { x, y, width: right - x, height: bottom - y }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// Draws the box of each element, and a label with its ref.
pub fn annotate(picture: &mut RgbaImage, annotations: &Annotations) {
    #[expect(clippy::cast_possible_truncation, reason = "a small whole number")]
    let scale = (annotations.pixel_ratio.round() as i64).max(1);
    let boxes: Vec<(&str, Rectangle)> = annotations
        .boxes
        .iter()
        .map(|(name, area)| (name.as_str(), Rectangle::of(*area, annotations.pixel_ratio)))
        .collect();
    for (index, (_, rectangle)) in boxes.iter().enumerate() {
        outline(picture, *rectangle, scale, COLORS[index % COLORS.len()]);
    }
    // Labels are drawn last, so that no line crosses them. They do not overlap if there is room.
    let mut taken: Vec<Rectangle> = Vec::new();
    for (index, (name, rectangle)) in boxes.iter().enumerate() {
        let label = label_position(picture, name, *rectangle, scale, &taken);
        fill(picture, label, COLORS[index % COLORS.len()]);
        write(picture, name, label.x + scale, label.y + scale, scale);
        taken.push(label);
    }
}

/// Returns a position above, in, below or next to the box that overlaps no other label.
fn label_position(
    picture: &RgbaImage,
    name: &str,
    rectangle: Rectangle,
    scale: i64,
    taken: &[Rectangle],
) -> Rectangle {
    let letters = i64::try_from(name.chars().count()).unwrap_or(1);
    let (width, height) = ((letters * LETTER + 2) * scale, (LETTER + 2) * scale);
    let (right, bottom) = (rectangle.x + rectangle.width, rectangle.y + rectangle.height);
    let most = (i64::from(picture.width()) - width, i64::from(picture.height()) - height);
    let candidates = [
        (rectangle.x, rectangle.y - height),
        (rectangle.x, rectangle.y),
        (right - width, rectangle.y),
        (rectangle.x, bottom),
        (right, rectangle.y),
        (rectangle.x - width, rectangle.y),
    ];
    let inside = candidates.map(|(x, y)| Rectangle {
        x: x.min(most.0).max(0),
        y: y.min(most.1).max(0),
        width,
        height,
    });
    let free = |label: &&Rectangle| !taken.iter().any(|other| other.overlaps(label));
    *inside.iter().find(free).unwrap_or(&inside[0])
}

/// Draws the border of a rectangle, on its inner side.
pub(super) fn outline(
    picture: &mut RgbaImage,
    rectangle: Rectangle,
    thickness: i64,
    color: [u8; 3],
) {
    let Rectangle { x, y, width, height } = rectangle;
    let thickness = thickness.min(width).min(height);
    fill(picture, Rectangle { height: thickness, ..rectangle }, color);
    fill(picture, Rectangle { y: y + height - thickness, height: thickness, ..rectangle }, color);
    fill(picture, Rectangle { width: thickness, ..rectangle }, color);
    fill(picture, Rectangle { x: x + width - thickness, width: thickness, ..rectangle }, color);
}

fn fill(picture: &mut RgbaImage, rectangle: Rectangle, [red, green, blue]: [u8; 3]) {
    let clamp = |value: i64, most: u32| u32::try_from(value.max(0)).unwrap_or(most).min(most);
    let (width, height) = picture.dimensions();
    for y in clamp(rectangle.y, height)..clamp(rectangle.y + rectangle.height, height) {
        for x in clamp(rectangle.x, width)..clamp(rectangle.x + rectangle.width, width) {
            picture.put_pixel(x, y, Rgba([red, green, blue, 255]));
        }
    }
}

fn write(picture: &mut RgbaImage, text: &str, mut x: i64, y: i64, scale: i64) {
    for letter in text.chars() {
        for (row, bits) in (0_i64..).zip(BASIC_FONTS.get(letter).unwrap_or_default()) {
            for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                let dot = Rectangle {
                    x: x + column * scale,
                    y: y + row * scale,
                    width: scale,
                    height: scale,
                };
                fill(picture, dot, WHITE);
            }
        }
        x += LETTER * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn white(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([255, 255, 255, 255]))
    }

    #[test]
    fn a_box_is_drawn_around_the_element_at_the_scale_of_the_picture() {
        let mut picture = white(100, 100);
        let area = Area { x: 10.0, y: 20.0, width: 20.0, height: 10.0 };
        let annotations = Annotations { boxes: vec![("e1".into(), area)], pixel_ratio: 2.0 };
        annotate(&mut picture, &annotations);
        let red = Rgba([200, 0, 0, 255]);
        for (x, y) in [(20, 40), (59, 59), (20, 59), (59, 40), (21, 41)] {
            assert_eq!(*picture.get_pixel(x, y), red, "{x},{y}");
        }
        assert_eq!(*picture.get_pixel(30, 50), Rgba([255, 255, 255, 255]));
        // The label is above it: 2 letters of 8 dots and a border, at twice the size.
        assert_eq!(*picture.get_pixel(20, 20), red);
        assert_eq!(*picture.get_pixel(55, 39), red);
    }

    #[test]
    fn labels_stay_in_the_image_and_do_not_overlap() {
        let mut picture = white(200, 100);
        let area = Area { x: 0.0, y: 0.0, width: 60.0, height: 30.0 };
        let boxes: Vec<_> = (0..3).map(|index| (format!("e{index}"), area)).collect();
        let mut taken: Vec<Rectangle> = Vec::new();
        for (name, area) in &boxes {
            let label = label_position(&picture, name, Rectangle::of(*area, 1.0), 1, &taken);
            assert!(label.x >= 0 && label.y >= 0, "{label:?}");
            assert!(!taken.iter().any(|other| other.overlaps(&label)), "{label:?}");
            taken.push(label);
        }
        // A box far outside of the image causes no panic.
        let far = Area { x: -500.0, y: 9000.0, width: 1.0, height: 1.0 };
        annotate(
            &mut picture,
            &Annotations { boxes: vec![("f1e2".into(), far)], pixel_ratio: 1.0 },
        );
    }
}
