//! Small pictures of the page, for the record.

use std::time::Duration;

use super::{dimensions, scaled};
use crate::{engine::ImageFormat, page::Page};

/// Timeout for a picture, which prolongs the call.
const TIMEOUT: Duration = Duration::from_millis(1500);
/// The JPEG quality of the image that the browser sends, and that of the picture.
const QUALITY: u8 = 60;
/// Maximum width and height in pixels.
const MAX_LENGTH: u32 = 480;
/// Maximum size in bytes.
const MAX_BYTES: usize = 64 * 1024;

impl Page {
    /// Takes a picture of the viewport as a JPEG image of at most 480 × 480 pixels and 64 KiB.
    /// `None` if a dialog is open, or if the page or the browser does not respond in time.
    pub async fn small_picture(&self) -> Option<Vec<u8>> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let taken = tokio::time::timeout(TIMEOUT, self.live_image(QUALITY)).await;
        let jpeg = taken.ok()?.ok()?.jpeg;
        // Decoding keeps the processor busy, also for a small file.
        tokio::task::spawn_blocking(move || reduced(jpeg)).await.ok()?
    }
}

/// Scales an image down to the maximum size. `None` if it is not valid, or is still too large.
fn reduced(jpeg: Vec<u8>) -> Option<Vec<u8>> {
    let (width, height) = dimensions(&jpeg).ok()?;
    let factor = f64::from(MAX_LENGTH) / f64::from(width.max(height));
    let picture = match factor < 1.0 {
        true => scaled(&jpeg, factor, ImageFormat::Jpeg, Some(QUALITY)).ok()?,
        false => jpeg,
    };
    (picture.len() <= MAX_BYTES).then_some(picture)
}

#[cfg(test)]
mod tests {
    use image::RgbaImage;

    use super::{super::encode, *};

    fn picture(width: u32, height: u32) -> Vec<u8> {
        encode(&RgbaImage::new(width, height), ImageFormat::Jpeg, None).unwrap()
    }

    #[test]
    fn a_picture_is_scaled_down_to_the_maximum_size() {
        for (width, height, expected) in
            [(1280, 720, (480, 270)), (600, 1200, (240, 480)), (100, 50, (100, 50))]
        {
            let reduced = reduced(picture(width, height)).unwrap();
            assert_eq!(dimensions(&reduced).unwrap(), expected);
        }
        assert!(reduced(b"no image".to_vec()).is_none());
    }

    #[test]
    fn a_picture_of_too_many_bytes_is_not_recorded() {
        let noise = |x: u32, y: u32| {
            (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)).to_be_bytes()[1]
        };
        let pixel = |x, y| image::Rgba([noise(x, y), noise(y, x), noise(x + y, x), 255]);
        let noisy = RgbaImage::from_fn(480, 480, pixel);
        let jpeg = encode(&noisy, ImageFormat::Jpeg, Some(100)).unwrap();
        assert!(jpeg.len() > MAX_BYTES && reduced(jpeg).is_none());
    }
}
