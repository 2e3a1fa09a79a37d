//! Encodes images for terminals that show them.

use std::io::Cursor;

use base64::{Engine, prelude::BASE64_STANDARD};
use image::{ImageFormat, ImageReader};
use troupe_client::ImageProtocol;

/// A wider image is scaled to [`COLUMNS`], so that it fits into a usual window (pixels).
const MAX_WIDTH: u32 = 800;
const COLUMNS: u32 = 80;
/// kitty accepts at most this many characters at once.
const CHUNK: usize = 4096;

/// Returns the characters with which the terminal shows a PNG or JPEG image (Base64). Returns
/// `None` if the image cannot be read.
pub(super) fn terminal_image(protocol: ImageProtocol, data: &str) -> Option<String> {
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let format = image::guess_format(&bytes).ok()?;
    match protocol {
        // iTerm2 itself scales images that are too wide.
        ImageProtocol::Iterm => {
            Some(format!("\u{1b}]1337;File=inline=1;size={}:{data}\u{7}", bytes.len()))
        }
        ImageProtocol::Kitty => {
            let reader = ImageReader::with_format(Cursor::new(&bytes), format);
            let (width, _) = reader.into_dimensions().ok()?;
            let columns = match width > MAX_WIDTH {
                true => format!(",c={COLUMNS}"),
                false => String::new(),
            };
            if format == ImageFormat::Png {
                return Some(kitty(data, &columns));
            }
            let picture = image::load_from_memory_with_format(&bytes, format).ok()?;
            let mut png = Vec::new();
            picture.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).ok()?;
            Some(kitty(&BASE64_STANDARD.encode(png), &columns))
        }
    }
}

/// Returns the commands that show a PNG (Base64). `q=2`: the terminal does not respond, because a
/// shell would read its response as input.
fn kitty(data: &str, options: &str) -> String {
    let mut text = String::new();
    let mut keys = format!("a=T,f=100,q=2{options},");
    let mut rest = data;
    loop {
        let (chunk, after) = rest.split_at(CHUNK.min(rest.len()));
        let more = u8::from(!after.is_empty());
        text.push_str(&format!("\u{1b}_G{keys}m={more};{chunk}\u{1b}\\"));
        if after.is_empty() {
            return text;
        }
        (keys, rest) = (String::new(), after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, format: ImageFormat) -> String {
        let mut bytes = Vec::new();
        let picture = image::RgbImage::from_fn(width, 20, |x, y| {
            image::Rgb([(x * 37 % 256) as u8, (y * 91 % 256) as u8, (x * y % 256) as u8])
        });
        picture.write_to(&mut Cursor::new(&mut bytes), format).expect("an image");
        BASE64_STANDARD.encode(bytes)
    }

    /// Returns the keys and the joined data of kitty's commands.
    fn parsed(text: &str) -> (Vec<&str>, String) {
        let commands = text.split_terminator("\u{1b}\\");
        let commands = commands.map(|command| command.strip_prefix("\u{1b}_G").expect("a command"));
        commands.map(|command| command.split_once(';').expect("data")).unzip()
    }

    #[test]
    fn kitty_gets_a_png_in_chunks_and_scales_a_wide_one() {
        let data = picture(900, ImageFormat::Png);
        let text = terminal_image(ImageProtocol::Kitty, &data).expect("characters");
        let (keys, joined) = parsed(&text);
        assert!(keys.len() > 2, "{keys:?}");
        assert_eq!(keys[0], "a=T,f=100,q=2,c=80,m=1");
        assert!(keys[1..keys.len() - 1].iter().all(|keys| *keys == "m=1"));
        assert_eq!(keys[keys.len() - 1], "m=0");
        assert_eq!(joined, data);
    }

    #[test]
    fn kitty_gets_a_jpeg_as_png() {
        let data = picture(30, ImageFormat::Jpeg);
        let text = terminal_image(ImageProtocol::Kitty, &data).expect("characters");
        let (keys, joined) = parsed(&text);
        assert!(!keys[0].contains("c="));
        let png = BASE64_STANDARD.decode(joined).expect("Base64");
        assert_eq!(image::guess_format(&png).ok(), Some(ImageFormat::Png));
    }

    #[test]
    fn iterm_gets_the_image_with_its_size() {
        let data = picture(30, ImageFormat::Jpeg);
        let size = BASE64_STANDARD.decode(&data).expect("Base64").len();
        let text = terminal_image(ImageProtocol::Iterm, &data);
        let expected = format!("\u{1b}]1337;File=inline=1;size={size}:{data}\u{7}");
        assert_eq!(text.as_deref(), Some(expected.as_str()));
        assert_eq!(terminal_image(ImageProtocol::Iterm, "AAAA"), None);
    }
}
