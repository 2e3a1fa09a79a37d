//! The sizes that a page requests for its popups, from `window.open(url, name,
//! "width=300,height=200")`.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::config::Viewport;

/// Maximum number of pending requests. A window that Chromium blocks never opens.
const MAX_REQUESTS: usize = 16;
/// The smallest width and height of a popup.
const SMALLEST: u32 = 100;

/// The requested windows that have not opened yet, the oldest first.
#[derive(Default)]
pub(super) struct Popups(Mutex<VecDeque<Option<Viewport>>>);

impl Popups {
    /// Records a call of `window.open` with these features.
    pub fn requested(&self, features: &[String]) {
        // Such a window has no opener.
        if features.iter().any(|feature| matches!(feature.as_str(), "noopener" | "noreferrer")) {
            return;
        }
        let mut requests = self.0.lock();
        if requests.len() == MAX_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(size(features));
    }

    /// Removes the oldest request and returns its size, if its features have one.
    pub fn next(&self) -> Option<Viewport> {
        self.0.lock().pop_front().flatten()
    }
}

fn size(features: &[String]) -> Option<Viewport> {
    let value = |names: [&str; 2]| {
        let values = features.iter().filter_map(|feature| feature.split_once('='));
        let mut of_name =
            values.filter(|(name, _)| names.contains(name)).map(|(_, value)| value.parse().ok());
        of_name.next_back()?.map(|pixels: u32| pixels.max(SMALLEST))
    };
    let (width, height) = (value(["width", "innerwidth"])?, value(["height", "innerheight"])?);
    Some(Viewport { width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(text: &str) -> Vec<String> {
        text.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn a_size_has_a_width_and_a_height() {
        for (text, expected) in [
            ("", None),
            ("width=300", None),
            ("popup", None),
            ("width=300,height=200", Some((300, 200))),
            ("left=5,innerwidth=300,innerheight=200", Some((300, 200))),
            ("width=1,height=2", Some((SMALLEST, SMALLEST))),
            ("width=a,height=200", None),
        ] {
            let size = size(&features(text)).map(|Viewport { width, height }| (width, height));
            assert_eq!(size, expected, "{text}");
        }
    }

    #[test]
    fn each_window_takes_the_size_of_its_own_request() {
        let popups = Popups::default();
        popups.requested(&features("width=300,height=200"));
        popups.requested(&features("noopener,width=900,height=900"));
        popups.requested(&features(""));
        assert_eq!(popups.next().map(|size| size.width), Some(300));
        assert_eq!(popups.next(), None);
        assert_eq!(popups.next(), None);
    }
}
