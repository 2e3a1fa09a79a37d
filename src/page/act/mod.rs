//! Navigates and acts on a page, and waits for the effects of each action.

mod action;
mod dialog;
mod dragging;
mod entering;
mod keyboard;
mod loading;
mod navigation;
mod overview;
mod pointer;
mod scrolling;
mod settle;

pub use action::{ActionOutcome, Entered, OtherValue};
pub use entering::TypeOptions;
pub use loading::WaitUntil;
pub use navigation::{Navigation, normalize_url};
pub use pointer::{ClickOptions, Point, PointerTarget};
pub use scrolling::ScrollOptions;
pub use settle::Settled;

pub(super) use loading::{DOWNLOAD, LoadOutcome};
pub(super) use settle::EventLoopTick;
