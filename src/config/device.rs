//! Devices to look like: facts under Playwright's names. What was set explicitly stays.

use super::error::ConfigError;
use super::layer::Origin;
use super::{ContextConfig, Viewport};

struct Device {
    name: &'static str,
    width: u32,
    height: u32,
    scale: f64,
    is_mobile: bool,
    user_agent: UserAgent,
}

/// What differs in a family's user agents.
enum UserAgent {
    /// The part after `Linux; `; tablets do not say `Mobile`.
    Android { system: &'static str, says_mobile: bool },
    /// The part in brackets.
    IosSafari(&'static str),
    /// The whole.
    Desktop(&'static str),
}

use UserAgent::{Android, Desktop, IosSafari};

const fn phone(name: &'static str, width: u32, height: u32, scale: f64, user_agent: UserAgent) -> Device {
    Device { name, width, height, scale, is_mobile: true, user_agent }
}

const fn android(system: &'static str) -> UserAgent {
    Android { system, says_mobile: true }
}

const fn desktop(name: &'static str, scale: f64, user_agent: &'static str) -> Device {
    Device { name, width: 1280, height: 720, scale, is_mobile: false, user_agent: Desktop(user_agent) }
}

const DESKTOP_CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/155.0.0.0 Safari/537.36";
const DESKTOP_EDGE: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/155.0.0.0 Safari/537.36 Edg/155.0.0.0";
const DESKTOP_FIREFOX: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:153.0) Gecko/20100101 Firefox/153.0";
const DESKTOP_SAFARI: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.6 Safari/605.1.15";

/// Viewports are what a page gets below the browser's own bars, as Playwright has them.
const DEVICES: &[Device] = &[
    phone("iPhone SE (3rd gen)", 375, 667, 2.0, IosSafari("iPhone; CPU iPhone OS 18_5")),
    phone("iPhone 12", 390, 664, 3.0, IosSafari("iPhone; CPU iPhone OS 14_4")),
    phone("iPhone 13", 390, 664, 3.0, IosSafari("iPhone; CPU iPhone OS 15_0")),
    phone("iPhone 14", 390, 664, 3.0, IosSafari("iPhone; CPU iPhone OS 16_0")),
    phone("iPhone 15", 393, 659, 3.0, IosSafari("iPhone; CPU iPhone OS 17_5")),
    phone("iPhone 15 Pro", 393, 659, 3.0, IosSafari("iPhone; CPU iPhone OS 17_5")),
    phone("iPhone 15 Pro Max", 430, 739, 3.0, IosSafari("iPhone; CPU iPhone OS 17_5")),
    phone("iPhone 16", 393, 659, 3.0, IosSafari("iPhone; CPU iPhone OS 18_7")),
    phone("iPhone 17", 402, 681, 3.0, IosSafari("iPhone; CPU iPhone OS 18_7")),
    phone("iPad Mini", 768, 1024, 2.0, IosSafari("iPad; CPU OS 12_2")),
    phone("iPad (gen 7)", 810, 1080, 2.0, IosSafari("iPad; CPU OS 12_2")),
    phone("iPad Pro 11", 834, 1194, 2.0, IosSafari("iPad; CPU OS 12_2")),
    phone("Pixel 5", 393, 727, 2.75, android("Android 11; Pixel 5")),
    phone("Pixel 7", 412, 839, 2.625, android("Android 14; Pixel 7")),
    phone("Pixel 8", 412, 839, 2.625, android("Android 14; Pixel 8")),
    phone("Pixel 10", 360, 732, 3.0, android("Android 16; Pixel 10")),
    phone("Galaxy S9+", 320, 658, 4.5, android("Android 8.0.0; SM-G965U Build/R16NW")),
    phone("Galaxy S24", 360, 780, 3.0, android("Android 14; SM-S921U")),
    phone("Galaxy A55", 480, 1040, 2.25, android("Android 14; SM-A556B")),
    phone("Galaxy Tab S9", 640, 1024, 2.5, Android { system: "Android 14; SM-X710", says_mobile: false }),
    phone("Moto G4", 360, 640, 3.0, android("Android 7.0; Moto G (4)")),
    desktop("Desktop Chrome", 1.0, DESKTOP_CHROME),
    desktop("Desktop Chrome HiDPI", 2.0, DESKTOP_CHROME),
    desktop("Desktop Edge", 1.0, DESKTOP_EDGE),
    desktop("Desktop Firefox", 1.0, DESKTOP_FIREFOX),
    desktop("Desktop Safari", 2.0, DESKTOP_SAFARI),
];

impl UserAgent {
    fn text(&self) -> String {
        match self {
            Android { system, says_mobile } => {
                let mobile = if *says_mobile { "Mobile " } else { "" };
                format!(
                    "Mozilla/5.0 (Linux; {system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/155.0.0.0 {mobile}Safari/537.36"
                )
            }
            IosSafari(system) => format!(
                "Mozilla/5.0 ({system} like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.6 Mobile/15E148 Safari/604.1"
            ),
            Desktop(text) => (*text).to_owned(),
        }
    }
}

/// Fills in what the named device says and nothing else says.
pub(super) fn apply(context: &mut ContextConfig, origin: Option<&Origin>) -> Result<(), ConfigError> {
    let Some(name) = context.device.clone() else { return Ok(()) };
    let Some(device) = DEVICES.iter().find(|device| device.name.eq_ignore_ascii_case(&name)) else {
        let names = || DEVICES.iter().map(|device| device.name);
        let near = super::near(&name, names());
        let all = near.is_empty();
        let known = if all { names().collect() } else { near.into_iter().take(4).collect() };
        let origin = origin.cloned().unwrap_or(Origin::Default("device"));
        return Err(ConfigError::UnknownDevice { origin, name, known, all });
    };
    context.device = Some(device.name.to_owned());
    context.viewport.get_or_insert(Viewport { width: device.width, height: device.height });
    context.device_scale_factor.get_or_insert(device.scale);
    context.user_agent.get_or_insert_with(|| device.user_agent.text());
    context.is_mobile = device.is_mobile;
    context.has_touch = device.is_mobile;
    Ok(())
}
