//! The keys of @playwright/mcp's configuration file.

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
    ("browser.cdpHeaders", Refused("`--browser-endpoint` sends no headers")),
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
    ("timeouts.idle", Refused("a browser ends with its session")),
    ("network.allowedOrigins", Refused("pass the hosts in `allowedDomains`")),
    ("network.blockedOrigins", Refused("pass the hosts in `blockedDomains`")),
    ("secrets", Refused("write the secrets into a file, and pass its path in `--secrets`")),
];

/// Looks up a dotted key of @playwright/mcp's configuration file.
pub(super) fn lookup(key: &str) -> Option<PlaywrightKey> {
    KEYS.iter().find(|(known, _)| *known == key).map(|(_, lookup)| *lookup)
}

/// Whether `key` is a prefix of a dotted key.
pub(super) fn is_section(key: &str) -> bool {
    KEYS.iter().any(|(known, _)| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::options;

    #[test]
    fn each_key_names_an_option() {
        for (key, lookup) in KEYS {
            if let Same(option) = lookup {
                assert!(options::by_flag(option).is_some(), "{key}: {option}");
            }
        }
    }
}
