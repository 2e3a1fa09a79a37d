//! The emulation settings of a context, as commands for each of its pages.

use chromiumoxide::cdp::browser_protocol::{
    emulation::{
        SetDeviceMetricsOverrideParams, SetFocusEmulationEnabledParams, SetLocaleOverrideParams,
        SetTimezoneOverrideParams, SetTouchEmulationEnabledParams, SetUserAgentOverrideParams,
    },
    security::SetIgnoreCertificateErrorsParams,
};

use super::{CommandBatch, launch::Windows};
use crate::{
    config::{ContextConfig, Viewport},
    engine::{ContextOptions, EngineError, EngineResult, connection::WireError},
};

/// The viewport of a page without a visible window, in CSS pixels, unless the options give one.
const DEFAULT_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };
/// The screen of a browser without a display.
pub(super) const SCREEN: Viewport = Viewport { width: 1920, height: 1080 };
/// The height of the tabs and the toolbar in a window of full Chrome.
const WINDOW_BARS: u32 = 87;

/// The viewport that a page is given; `None`: its window's.
fn viewport(
    options: &ContextOptions,
    windows: Windows,
    popup: Option<Viewport>,
) -> Option<Viewport> {
    let options = &options.config;
    // A phone opens every window over its whole screen; a visible window has the size already.
    let popup = popup.filter(|_| windows != Windows::Visible && !options.is_mobile);
    let emulates = options.device_scale_factor.is_some() || options.is_mobile;
    let default = (windows != Windows::Visible || emulates).then_some(DEFAULT_VIEWPORT);
    popup.or(options.viewport).or(default)
}

/// The size that a new page's window is created with, so that the page sees a window around its viewport.
pub(super) fn window_size(options: &ContextOptions, windows: Windows) -> Option<Viewport> {
    let bars = match windows {
        Windows::None => 0,
        Windows::Invisible => WINDOW_BARS,
        Windows::Visible => return None,
    };
    viewport(options, windows, None).map(|size| Viewport { height: size.height + bars, ..size })
}

/// Adds the commands that set up a page with `options`. `popup`: the size that its opener asked for.
pub(super) fn apply_to_page(
    batch: &mut CommandBatch<'_>,
    options: &ContextOptions,
    windows: Windows,
    popup: Option<Viewport>,
) -> EngineResult<()> {
    if let Some(size) = viewport(options, windows, popup) {
        batch.add(metrics(&options.config, windows, size))?;
    }
    let options = &options.config;
    // Several pages are in use at once; each must think that it has the focus.
    batch.add(SetFocusEmulationEnabledParams::new(true))?;
    if options.ignore_https_errors {
        batch.add(SetIgnoreCertificateErrorsParams::new(true))?;
    }
    Ok(())
}

/// The command that gives a page a viewport of `size`.
pub(super) fn metrics(
    options: &ContextConfig,
    windows: Windows,
    size: Viewport,
) -> SetDeviceMetricsOverrideParams {
    let Viewport { width, height } = size;
    let scale = options.device_scale_factor.unwrap_or(1.0);
    let mut metrics = SetDeviceMetricsOverrideParams::new(width, height, scale, options.is_mobile);
    if windows != Windows::Visible {
        // A screen is never smaller than its viewport, and a phone's screen has the size of the viewport.
        let least = if options.is_mobile { Viewport { width: 0, height: 0 } } else { SCREEN };
        metrics.screen_width = Some(width.max(least.width).into());
        metrics.screen_height = Some(height.max(least.height).into());
    }
    metrics
}

/// Adds what each process of a page's must be asked for.
pub(super) fn apply_to_frames(
    batch: &mut CommandBatch<'_>,
    options: &ContextOptions,
) -> EngineResult<()> {
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
        // ICU's spelling.
        let params = SetLocaleOverrideParams { locale: Some(locale.replace('-', "_")) };
        batch.add(params)?;
    }
    if let Some(timezone) = &options.timezone {
        batch.add(SetTimezoneOverrideParams::new(timezone))?;
    }
    Ok(())
}

/// Converts the rejection of one of these commands.
pub(super) fn refused(error: WireError, config: &ContextConfig) -> EngineError {
    let WireError::Refused { method, .. } = &error else { return error.into() };
    let (name, value) = match method.as_str() {
        "Emulation.setTimezoneOverride" => ("timezone", &config.timezone),
        "Emulation.setLocaleOverride" => ("locale", &config.locale),
        _ => return error.into(),
    };
    EngineError::UnknownSetting { name, value: value.clone().unwrap_or_default() }
}
