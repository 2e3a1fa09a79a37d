//! Maps coordinates of a frame's viewport to the viewport around it.

use serde_json::Value;

use crate::engine::Area;

/// An affine map, with the coefficients of CSS `matrix(a, b, c, d, e, f)`: `x' = a·x + c·y + e`,
/// `y' = b·x + d·y + f`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::page) struct FrameTransform([f64; 6]);

impl Default for FrameTransform {
    fn default() -> Self {
        Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    }
}

impl FrameTransform {
    /// Reads the six coefficients; missing ones are those of the identity.
    pub fn read(coefficients: &Value) -> Self {
        let mut transform = Self::default();
        for (index, coefficient) in transform.0.iter_mut().enumerate() {
            *coefficient = coefficients[index].as_f64().unwrap_or(*coefficient);
        }
        transform
    }

    /// Moves by `(x, y)`.
    pub fn translation(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// Applies `self`, then `outer`.
    pub fn then(self, outer: Self) -> Self {
        let [a, b, c, d, e, f] = self.0;
        let linear = Self([outer.0[0], outer.0[1], outer.0[2], outer.0[3], 0.0, 0.0]);
        let ((a, b), (c, d)) = (linear.apply((a, b)), linear.apply((c, d)));
        let (e, f) = outer.apply((e, f));
        Self([a, b, c, d, e, f])
    }

    pub fn apply(self, (x, y): (f64, f64)) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// Returns the point that is mapped to `(x, y)`; `None` if the map is not invertible.
    pub fn invert(self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let [a, b, c, d, e, f] = self.0;
        let determinant = a * d - b * c;
        let (x, y) = (x - e, y - f);
        (determinant != 0.0).then(|| ((d * x - c * y) / determinant, (a * y - b * x) / determinant))
    }

    /// Returns the bounding box of the mapped `area`.
    pub fn bounds(self, area: Area) -> Area {
        let Area { x, y, width, height } = area;
        let corners = [(x, y), (x + width, y), (x, y + height), (x + width, y + height)]
            .map(|corner| self.apply(corner));
        let (left, top) = corners
            .into_iter()
            .fold((f64::INFINITY, f64::INFINITY), |(left, top), (x, y)| (left.min(x), top.min(y)));
        let (right, bottom) = corners
            .into_iter()
            .fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |(right, bottom), (x, y)| {
                (right.max(x), bottom.max(y))
            });
        Area { x: left, y: top, width: right - left, height: bottom - top }
    }
}

/// Reads a box in an answer of the injected script.
pub(in crate::page) fn area(value: &Value) -> Area {
    let number = |name: &str| value[name].as_f64().unwrap_or_default();
    Area { x: number("x"), y: number("y"), width: number("width"), height: number("height") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_frames_map_from_the_inside_out() {
        let scaled = FrameTransform::read(&json!([0.5, 0.0, 0.0, 0.5, 10.0, 20.0]));
        let rotated = FrameTransform::read(&json!([0.0, 1.0, -1.0, 0.0, 100.0, 0.0]));
        assert_eq!(scaled.then(rotated).apply((40.0, 60.0)), rotated.apply((30.0, 50.0)));
        let area = Area { x: 0.0, y: 0.0, width: 20.0, height: 10.0 };
        assert_eq!(rotated.bounds(area), Area { x: 90.0, y: 0.0, width: 10.0, height: 20.0 });
        assert_eq!(FrameTransform::read(&Value::Null), FrameTransform::default());
    }

    proptest! {
        #[test]
        fn inverting_finds_the_point_again(
            coefficients in prop::array::uniform6(-3.0..3.0), x in -500.0..500.0, y in -500.0..500.0,
        ) {
            let transform = FrameTransform(coefficients);
            let [a, b, c, d, ..] = coefficients;
            prop_assume!((a * d - b * c).abs() > 0.01);
            let (again_x, again_y) = transform.invert(transform.apply((x, y))).unwrap();
            prop_assert!((again_x - x).abs() < 1e-6 && (again_y - y).abs() < 1e-6);
        }
    }
}
