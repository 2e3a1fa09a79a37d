//! Devices that `--device` emulates. `devices.json` is Playwright's list (`npm run generate` writes
//! it). Explicit options override the device's values.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::ConfigError;
use super::origin::Origin;
use super::{ContextConfig, Viewport};

const DEVICES: &str = include_str!("devices.json");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    viewport: Viewport,
    device_scale_factor: f64,
    is_mobile: bool,
    has_touch: bool,
    user_agent: String,
}

/// Applies the device's values to the settings that no other source has set.
pub(super) fn apply(
    context: &mut ContextConfig,
    origin: Option<&Origin>,
) -> Result<(), ConfigError> {
    let Some(name) = context.device.clone() else { return Ok(()) };
    let wrong = |error: serde_json::Error| ConfigError::Inconsistent(error.to_string());
    let mut devices: Map<String, Value> = serde_json::from_str(DEVICES).map_err(wrong)?;
    let Some(known) = devices.keys().find(|known| known.eq_ignore_ascii_case(&name)).cloned()
    else {
        let near = super::near(&name, devices.keys().map(String::as_str));
        let near = near.into_iter().take(4).map(str::to_owned).collect();
        let origin = origin.cloned().unwrap_or(Origin::Default("device"));
        return Err(ConfigError::UnknownDevice { origin, name, near });
    };
    let device = devices.remove(&known).unwrap_or_default();
    let device: Device = serde_json::from_value(device).map_err(wrong)?;
    context.device = Some(known);
    context.viewport.get_or_insert(device.viewport);
    context.device_scale_factor.get_or_insert(device.device_scale_factor);
    context.user_agent.get_or_insert(device.user_agent);
    context.is_mobile = device.is_mobile;
    context.has_touch = device.has_touch;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_of_the_list_can_be_emulated() {
        let devices: Map<String, Value> = serde_json::from_str(DEVICES).unwrap();
        assert!(devices.len() > 100);
        for name in devices.keys() {
            let mut context =
                ContextConfig { device: Some(name.to_uppercase()), ..ContextConfig::default() };
            apply(&mut context, None).unwrap();
            assert_eq!(context.device.as_ref(), Some(name));
        }
    }
}
