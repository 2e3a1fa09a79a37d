//! Encodes and decodes images.

use std::io::Cursor;

use image::{
    ExtendedColorType, ImageEncoder, ImageError, ImageReader, Limits, RgbaImage,
    codecs::{
        jpeg::JpegEncoder,
        png::{CompressionType, FilterType as PngFilter, PngEncoder},
        webp::WebPEncoder,
    },
    imageops::{self, FilterType},
};

use crate::engine::ImageFormat;

/// Maximum memory for decoding an image.
const MAX_MEMORY: u64 = 512 * 1024 * 1024;
/// JPEG quality, the browsers' default.
const JPEG_QUALITY: u8 = 80;

/// Decodes a PNG or JPEG image.
pub fn decode(bytes: &[u8]) -> Result<RgbaImage, ImageError> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    reader.limits(limits);
    Ok(reader.decode()?.into_rgba8())
}

/// Returns the width and height of a PNG or JPEG image from its header.
pub fn dimensions(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    ImageReader::new(Cursor::new(bytes)).with_guessed_format()?.into_dimensions()
}

/// Scales a PNG or JPEG image by `factor`.
pub fn scaled(
    bytes: &[u8],
    factor: f64,
    format: ImageFormat,
    quality: Option<u8>,
) -> Result<Vec<u8>, ImageError> {
    let picture = decode(bytes)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small picture")]
    let length = |length: u32| ((f64::from(length) * factor).round() as u32).max(1);
    let (width, height) = picture.dimensions();
    let scaled = imageops::resize(&picture, length(width), length(height), FilterType::Triangle);
    encode(&scaled, format, quality)
}

/// Converts a PNG or JPEG image to lossless WebP.
pub fn webp(bytes: &[u8]) -> Result<Vec<u8>, ImageError> {
    let picture = decode(bytes)?;
    let (width, height) = picture.dimensions();
    let mut webp = Vec::new();
    WebPEncoder::new_lossless(&mut webp).encode(
        picture.as_raw(),
        width,
        height,
        ExtendedColorType::Rgba8,
    )?;
    Ok(webp)
}

pub fn encode(
    picture: &RgbaImage,
    format: ImageFormat,
    quality: Option<u8>,
) -> Result<Vec<u8>, ImageError> {
    let mut bytes = Vec::new();
    let (width, height) = picture.dimensions();
    match format {
        ImageFormat::Png => {
            let encoder = PngEncoder::new_with_quality(
                &mut bytes,
                CompressionType::Fast,
                PngFilter::Adaptive,
            );
            encoder.write_image(picture.as_raw(), width, height, ExtendedColorType::Rgba8)?;
        }
        ImageFormat::Jpeg => {
            let opaque: Vec<u8> =
                picture.pixels().flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
            let quality = quality.unwrap_or(JPEG_QUALITY).max(1);
            let encoder = JpegEncoder::new_with_quality(&mut bytes, quality);
            encoder.write_image(&opaque, width, height, ExtendedColorType::Rgb8)?;
        }
    }
    Ok(bytes)
}
