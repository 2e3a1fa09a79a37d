//! The emulation settings of a context, as commands for each of its pages.

use chromiumoxide::cdp::browser_protocol::{
    emulation::{
        MediaFeature, SetDeviceMetricsOverrideParams, SetEmulatedMediaParams,
        SetFocusEmulationEnabledParams, SetLocaleOverrideParams, SetTimezoneOverrideParams,
        SetTouchEmulationEnabledParams, SetUserAgentOverrideParams,
    },
    page::{StartScreencastFormat, StartScreencastParams},
    security::SetIgnoreCertificateErrorsParams,
};

use super::session::CommandBatch;
use crate::{
    config::{ContextConfig, Viewport},
    engine::{
        ContextOptions, EmulatedMedia, EngineError, EngineResult, connection::ConnectionError,
    },
};

/// Whether pages have windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowMode {
    /// The headless shell: a page has no window.
    None,
    /// Chrome without a display. Each page needs its own window, because background tabs are never
    /// painted.
    Invisible,
    /// Chrome on a display, or a running browser. Each page has its own window, whose size is the
    /// viewport.
    Visible,
    /// A tab of the user's own browser, mostly in the background.
    UserTab,
}

impl WindowMode {
    /// Whether the viewport of a page is that of its window.
    fn fills_window(self) -> bool {
        matches!(self, Self::Visible | Self::UserTab)
    }
}

/// Returns the command for a screencast without images. With an emulated focus alone, a background
/// tab that changes produces only about one frame per second, and screenshots do not return. A
/// screencast keeps it painted.
pub(super) fn keep_painted() -> StartScreencastParams {
    StartScreencastParams {
        format: Some(StartScreencastFormat::Jpeg),
        quality: Some(1),
        max_width: Some(1),
        max_height: Some(1),
        every_nth_frame: Some(i64::from(i32::MAX)),
    }
}

/// The default viewport of a page without a visible window, in CSS pixels.
const DEFAULT_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };
/// The screen of a browser without a display.
pub(super) const SCREEN: Viewport = Viewport { width: 1920, height: 1080 };
/// The height of the tabs and the toolbar in a window of full Chrome.
const WINDOW_CHROME_HEIGHT: u32 = 87;

/// Returns the viewport of a page. `None` means that of its window.
fn viewport(
    options: &ContextOptions,
    window_mode: WindowMode,
    popup: Option<Viewport>,
) -> Option<Viewport> {
    let options = &options.config;
    // On a phone every window fills the screen. A visible window already has the requested size.
    let popup = popup.filter(|_| !window_mode.fills_window() && !options.is_mobile);
    let emulates = options.device_scale_factor.is_some() || options.is_mobile;
    let default = (!window_mode.fills_window() || emulates).then_some(DEFAULT_VIEWPORT);
    popup.or(options.viewport).or(default)
}

/// Returns the size of a new page's window, which is larger than the viewport.
pub(super) fn window_size(options: &ContextOptions, window_mode: WindowMode) -> Option<Viewport> {
    let chrome_height = match window_mode {
        WindowMode::None => 0,
        WindowMode::Invisible => WINDOW_CHROME_HEIGHT,
        WindowMode::Visible | WindowMode::UserTab => return None,
    };
    viewport(options, window_mode, None)
        .map(|size| Viewport { height: size.height + chrome_height, ..size })
}

/// Adds the commands that set up a page with `options`. `popup` is the size that its opener
/// requested.
pub(super) fn apply_to_page(
    batch: &mut CommandBatch<'_>,
    options: &ContextOptions,
    window_mode: WindowMode,
    popup: Option<Viewport>,
) -> EngineResult<()> {
    if let Some(size) = viewport(options, window_mode, popup) {
        batch.add(metrics(&options.config, window_mode, size))?;
    }
    let options = &options.config;
    // Several pages are in use at once, and each must behave as if it had the focus.
    batch.add(SetFocusEmulationEnabledParams::new(true))?;
    if window_mode == WindowMode::UserTab {
        batch.add(keep_painted())?;
    }
    if options.ignore_https_errors {
        batch.add(SetIgnoreCertificateErrorsParams::new(true))?;
    }
    Ok(())
}

/// Returns the command that sets the viewport of a page.
pub(super) fn metrics(
    options: &ContextConfig,
    window_mode: WindowMode,
    size: Viewport,
) -> SetDeviceMetricsOverrideParams {
    let Viewport { width, height } = size;
    let scale = options.device_scale_factor.unwrap_or(1.0);
    let mut metrics = SetDeviceMetricsOverrideParams::new(width, height, scale, options.is_mobile);
    if !window_mode.fills_window() {
        // A screen is never smaller than its viewport, and a phone's screen has the size of the
        // viewport.
        let smallest = if options.is_mobile { Viewport { width: 0, height: 0 } } else { SCREEN };
        metrics.screen_width = Some(width.max(smallest.width).into());
        metrics.screen_height = Some(height.max(smallest.height).into());
    }
    metrics
}

/// Adds the commands that each renderer process of a page needs.
pub(super) fn apply_to_frames(
    batch: &mut CommandBatch<'_>,
    options: &ContextOptions,
    emulated: &EmulatedMedia,
) -> EngineResult<()> {
    if *emulated != EmulatedMedia::default() {
        batch.add(media(emulated))?;
    }
    let options = &options.config;
    if options.has_touch {
        batch.add(SetTouchEmulationEnabledParams::new(true))?;
    }
    if options.user_agent.is_some() || options.locale.is_some() {
        let mut params =
            SetUserAgentOverrideParams::new(options.user_agent.clone().unwrap_or_default());
        params.accept_language.clone_from(&options.locale);
        batch.add(params)?;
    }
    if let Some(locale) = &options.locale {
        // ICU separates the parts of a locale with underscores.
        let params = SetLocaleOverrideParams { locale: Some(locale.replace('-', "_")) };
        batch.add(params)?;
    }
    if let Some(timezone) = &options.timezone {
        batch.add(SetTimezoneOverrideParams::new(timezone))?;
    }
    Ok(())
}

/// Returns the command that overrides the media type and the media features. An empty value removes
/// an override.
pub(super) fn media(emulated: &EmulatedMedia) -> SetEmulatedMediaParams {
    let feature = |(name, value): (_, Option<&str>)| MediaFeature::new(name, value.unwrap_or(""));
    SetEmulatedMediaParams {
        media: Some(emulated.media.clone().unwrap_or_default()),
        features: Some(emulated.features().into_iter().map(feature).collect()),
    }
}

/// Converts the error of one of these commands.
pub(super) fn setting_error(error: ConnectionError, config: &ContextConfig) -> EngineError {
    let ConnectionError::Refused { method, .. } = &error else { return error.into() };
    let (name, value) = match method.as_str() {
        "Emulation.setTimezoneOverride" => ("timezone", &config.timezone),
        "Emulation.setLocaleOverride" => ("locale", &config.locale),
        _ => return error.into(),
    };
    EngineError::UnknownSetting { name, value: value.clone().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn media_that_are_not_emulated_have_empty_values() {
        let dark = EmulatedMedia { color_scheme: Some("dark".into()), ..Default::default() };
        let expected = json!({"media": "", "features": [
            {"name": "prefers-color-scheme", "value": "dark"},
            {"name": "prefers-reduced-motion", "value": ""},
            {"name": "forced-colors", "value": ""},
            {"name": "prefers-contrast", "value": ""},
        ]});
        assert_eq!(serde_json::to_value(media(&dark)).unwrap(), expected);
    }
}
