//! The keys of @playwright/mcp's configuration file.

use serde_json::{Map, Value};

use super::options;

/// The option that a key sets, or why it is rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PlaywrightKey {
    /// Sets the option of this name.
    Option(&'static str),
    /// Rejected with this reason.
    Refused(&'static str),
}

use PlaywrightKey::{Option as Same, Refused};

const NO_PROCESS: &str = "it needs a Playwright process: use `--upstream`";

/// The dotted keys of @playwright/mcp whose name differs from that of the option.
const KEYS: &[(&str, PlaywrightKey)] = &[
    ("browser.browserName", Same("browser")),
    ("browser.isolated", Same("isolated")),
    ("browser.userDataDir", Same("user-data-dir")),
    ("browser.cdpEndpoint", Same("browser-endpoint")),
    ("browser.cdpHeaders", Refused("write a list of `NAME=VALUE` into `browserHeader`")),
    ("browser.cdpTimeout", Refused("the limit for connecting to a browser is fixed")),
    ("browser.remoteEndpoint", Refused(NO_PROCESS)),
    ("browser.initPage", Refused("it needs a Playwright process: use `initScript`")),
    ("browser.initScript", Same("init-script")),
    ("browser.launchOptions.channel", Same("browser")),
    ("browser.launchOptions.headless", Same("headless")),
    ("browser.launchOptions.executablePath", Same("executable-path")),
    ("browser.launchOptions.args", Same("browser-arg")),
    ("browser.launchOptions.chromiumSandbox", Same("sandbox")),
    ("browser.launchOptions.proxy.server", Same("proxy-server")),
    ("browser.launchOptions.proxy.bypass", Same("proxy-bypass")),
    ("browser.contextOptions.viewport", Same("viewport-size")),
    ("browser.contextOptions.deviceScaleFactor", Same("device-scale-factor")),
    ("browser.contextOptions.userAgent", Same("user-agent")),
    ("browser.contextOptions.locale", Same("locale")),
    ("browser.contextOptions.timezoneId", Same("timezone")),
    ("browser.contextOptions.ignoreHTTPSErrors", Same("ignore-https-errors")),
    ("browser.contextOptions.permissions", Same("grant-permissions")),
    ("browser.contextOptions.storageState", Same("storage-state")),
    ("server.port", Same("port")),
    ("server.host", Same("host")),
    ("server.allowedHosts", Same("allowed-hosts")),
    ("capabilities", Same("caps")),
    ("console.level", Same("console-level")),
    ("snapshot.mode", Same("snapshot-mode")),
    ("snapshot.boxes", Same("snapshot-boxes")),
    ("timeouts.action", Same("timeout-action")),
    ("timeouts.navigation", Same("timeout-navigation")),
    ("timeouts.settle", Same("timeout-settle")),
    ("timeouts.expect", Refused("the verify tools do not wait")),
    (
        "timeouts.idle",
        Refused("sessions share a browser, which stays open; use `--pool-idle-timeout`"),
    ),
    ("network.allowedOrigins", Same("allowed-origins")),
    ("network.blockedOrigins", Same("blocked-origins")),
    ("secrets", Refused("write the secrets into a file, and pass its path in `--secrets`")),
];

/// Looks up a dotted key of @playwright/mcp's configuration file.
pub(super) fn lookup(key: &str) -> Option<PlaywrightKey> {
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, lookup)| *lookup)
}

/// Keys with the name of their option.
const SAME_NAMES: &[&str] = &[
    "allowUnrestrictedFileAccess",
    "codegen",
    "filePaths",
    "imageResponses",
    "outputDir",
    "outputMaxSize",
    "testIdAttribute",
];

/// Returns a configuration with the keys of @playwright/mcp. `config` is a [`super::Config`] as
/// JSON. Settings without a value are omitted.
pub fn with_playwright_keys(config: &Value) -> Value {
    let mut described = Map::new();
    let named = KEYS.iter().filter_map(|(key, meaning)| match meaning {
        Same(option) => Some((*key, options::by_flag(option)?.0)),
        Refused(_) => None,
    });
    let same = SAME_NAMES.iter().filter_map(|key| Some((*key, options::by_key(key)?.0)));
    for (key, option) in named.chain(same) {
        let value = match key {
            // One option has both meanings here.
            "network.allowedOrigins" => config.pointer("/security/requestOrigins"),
            _ => config.pointer(&format!("/{}", option.at.replace('.', "/"))),
        };
        let value = match (key, value.and_then(Value::as_str)) {
            ("browser.browserName", Some("chrome" | "msedge")) => Some(Value::from("chromium")),
            ("browser.launchOptions.channel", Some("chromium" | "firefox" | "webkit")) => None,
            _ => value.filter(|value| !value.is_null()).cloned(),
        };
        if let Some(value) = value {
            insert(&mut described, key, value);
        }
    }
    Value::Object(described)
}

/// Sets a dotted key.
fn insert(object: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(object.insert(key.to_owned(), value)),
        Some((section, rest)) => {
            let section = object.entry(section).or_insert_with(|| Value::Object(Map::new()));
            if let Some(section) = section.as_object_mut() {
                insert(section, rest, value);
            }
        }
    }
}

/// Whether `key` is a prefix of a dotted key.
pub(super) fn is_section(key: &str) -> bool {
    KEYS.iter().any(|(known, _)| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn settings_are_described_with_the_keys_of_the_file() {
        let config = serde_json::to_value(Config {
            timeout_action: std::time::Duration::from_secs(7),
            isolated: true,
            ..Config::default()
        });
        let described = with_playwright_keys(&config.unwrap());
        assert_eq!(described["timeouts"]["action"], 7000);
        assert_eq!(described["browser"]["isolated"], true);
        assert_eq!(described["browser"]["browserName"], "chromium");
        assert_eq!(described["browser"]["launchOptions"]["channel"], Value::Null);
        assert_eq!(described["codegen"], "typescript");
    }

    #[test]
    fn each_key_names_an_option() {
        for (key, lookup) in KEYS {
            if let Same(option) = lookup {
                assert!(options::by_flag(option).is_some(), "{key}: {option}");
            }
        }
    }
}
