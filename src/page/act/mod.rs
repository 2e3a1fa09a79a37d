//! Navigates and acts on a page, and waits for the effects of each action.

mod action;
mod dialog;
mod dragging;
mod entering;
mod evaluating;
mod file_chooser;
mod keyboard;
mod loading;
mod media;
mod mouse;
mod navigation;
mod overview;
mod person_input;
mod pointer;
mod scrolling;
mod select_popup;
mod settle;

pub use action::{ActionOutcome, ChangedFields, ValueMismatch};
pub use entering::TypeOptions;
pub use keyboard::CONTROL_OR_META;
pub use loading::WaitUntil;
pub use media::MediaEmulation;
pub use navigation::{Navigation, normalize_url};
pub use person_input::PersonInput;
pub use pointer::{ClickOptions, Point, PointerTarget};
pub use scrolling::ScrollOptions;
pub use select_popup::{SelectPopup, SelectPopupView};
pub use settle::SettledEffects;

pub(super) use loading::{DOWNLOAD_TIMEOUT, LoadOutcome};
pub(super) use mouse::PointerState;
pub(super) use settle::{DocumentClock, EventLoopTick, TickSnapshots};
