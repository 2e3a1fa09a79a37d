//! What a context pretends to be, as commands to each of its pages.

use chromiumoxide::cdp::browser_protocol::{
    emulation::{
        SetDeviceMetricsOverrideParams, SetFocusEmulationEnabledParams, SetLocaleOverrideParams,
        SetTimezoneOverrideParams, SetTouchEmulationEnabledParams, SetUserAgentOverrideParams,
    },
    security::SetIgnoreCertificateErrorsParams,
};

use super::CommandBatch;
use crate::{
    config::{ContextConfig, Viewport},
    engine::{ContextOptions, EngineError, EngineResult, wire::WireError},
};

/// The viewport where nothing else is asked for, in CSS pixels.
const DEFAULT_VIEWPORT: Viewport = Viewport { width: 1280, height: 720 };

/// Adds what `options` ask for of a page. `windowed`: it has a window, whose size counts unless another is asked for.
pub(super) fn apply_to_page(
    batch: &mut CommandBatch<'_>,
    options: &ContextOptions,
    windowed: bool,
) -> EngineResult<()> {
    let options = &options.config;
    let viewport = options.viewport.or((!windowed).then_some(DEFAULT_VIEWPORT));
    if viewport.is_some() || options.device_scale_factor.is_some() || options.is_mobile {
        let viewport = viewport.unwrap_or(DEFAULT_VIEWPORT);
        batch.add(SetDeviceMetricsOverrideParams::new(
            viewport.width,
            viewport.height,
            options.device_scale_factor.unwrap_or(1.0),
            options.is_mobile,
        ))?;
    }
    // Several pages are in use at once; each must think that it has the focus.
    batch.add(SetFocusEmulationEnabledParams::new(true))?;
    if options.ignore_https_errors {
        batch.add(SetIgnoreCertificateErrorsParams::new(true))?;
    }
    Ok(())
}

/// Adds what each process of a page's must be asked for.
pub(super) fn apply_to_frames(batch: &mut CommandBatch<'_>, options: &ContextOptions) -> EngineResult<()> {
    let options = &options.config;
    if options.has_touch {
        batch.add(SetTouchEmulationEnabledParams::new(true))?;
    }
    if options.user_agent.is_some() || options.locale.is_some() {
        let mut params = SetUserAgentOverrideParams::new(options.user_agent.clone().unwrap_or_default());
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

/// What a refusal of one of these commands means.
pub(super) fn refused(error: WireError, config: &ContextConfig) -> EngineError {
    let WireError::Refused { method, .. } = &error else { return error.into() };
    let (name, value) = match method.as_str() {
        "Emulation.setTimezoneOverride" => ("timezone", &config.timezone),
        "Emulation.setLocaleOverride" => ("locale", &config.locale),
        _ => return error.into(),
    };
    EngineError::UnknownSetting { name, value: value.clone().unwrap_or_default() }
}
