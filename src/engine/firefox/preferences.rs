//! Firefox preferences for automation, in addition to those of its remote agent.

use std::fmt::Write as _;

use crate::config::Config;

/// `(name, value as JSON)`
const PREFERENCES: &[(&str, &str)] = &[
    // Nothing that phones home or asks.
    ("app.update.enabled", "false"),
    ("browser.aboutwelcome.enabled", "false"),
    ("browser.newtabpage.enabled", "false"),
    ("browser.startup.homepage", "\"about:blank\""),
    ("browser.startup.page", "0"),
    ("browser.uitour.enabled", "false"),
    ("datareporting.policy.dataSubmissionEnabled", "false"),
    ("dom.push.enabled", "false"),
    ("extensions.pocket.enabled", "false"),
    ("network.dns.disablePrefetch", "true"),
    ("network.http.speculative-parallel-limit", "0"),
    ("network.prefetch-next", "false"),
    ("toolkit.startup.max_resumed_crashes", "-1"),
    ("toolkit.telemetry.enabled", "false"),
    ("trailhead.firstrun.didSeeAboutWelcome", "true"),
    // Nobody asked for icons: they would show in the log of requests.
    ("browser.chrome.site_icons", "false"),
    // Windows that pages ask for are tabs, whatever their size.
    ("browser.link.open_newwindow", "3"),
    ("browser.link.open_newwindow.restriction", "0"),
    ("browser.tabs.loadInBackground", "true"),
    ("dom.allow_scripts_to_close_windows", "true"),
    ("dom.disable_open_during_load", "false"),
    (
        "dom.popup_allowed_events",
        "\"change click dblclick auxclick mousedown mouseup pointerdown pointerup notificationclick reset submit touchend contextmenu\"",
    ),
    // Each page may think itself in front, as `window.focus()` makes it.
    ("dom.disable_window_flip", "false"),
    ("focusmanager.testmode", "true"),
    ("dom.min_background_timeout_value", "4"),
    ("dom.timeout.enable_budget_timer_throttling", "false"),
    ("dom.disable_beforeunload", "false"),
    // A document that comes back out of memory would say nothing of it.
    ("browser.sessionhistory.max_total_viewers", "0"),
    ("fission.bfcacheInParent", "false"),
    // Input goes to the page that is meant, not to the tab that is in front.
    ("remote.events.async.enabled", "false"),
    ("browser.download.always_ask_before_handling_new_types", "false"),
    ("browser.download.open_pdf_attachments_inline", "false"),
    ("browser.helperApps.deleteTempFileOnExit", "true"),
    ("pdfjs.disabled", "true"),
    ("dom.security.https_first", "false"),
    ("dom.security.https_only_mode", "false"),
    ("security.sandbox.warn_unprivileged_namespaces", "false"),
    // Scripts that run for too long are reported, after a second in place of ten: they can be ended only so.
    ("dom.ipc.reportProcessHangs", "true"),
    ("dom.max_script_run_time", "1"),
    ("dom.max_script_run_time.require_critical_input", "false"),
    // Otherwise a command that a crash of its page has interrupted would run again, in the browser's parent process.
    ("remote.retry-on-abort", "false"),
    ("signon.rememberSignons", "false"),
    ("widget.gtk.overlay-scrollbars.enabled", "true"),
];

/// Of one that may only reach the network through us.
const ONE_WAY_OUT: &[(&str, &str)] = &[
    ("network.proxy.type", "1"),
    ("network.proxy.socks", "\"127.0.0.1\""),
    ("network.proxy.socks_version", "5"),
    ("network.proxy.socks_remote_dns", "true"),
    ("network.proxy.socks5_remote_dns", "true"),
    ("network.proxy.no_proxies_on", "\"\""),
    // This machine too, and never past the proxy where that does not answer.
    ("network.proxy.allow_hijacking_localhost", "true"),
    ("network.proxy.failover_direct", "false"),
    ("network.proxy.allow_bypass", "false"),
    // WebRTC and HTTP/3 go by UDP, names of their own go by HTTPS.
    ("media.peerconnection.ice.proxy_only", "true"),
    ("network.http.http3.enable", "false"),
    ("network.webtransport.enabled", "false"),
    ("network.trr.mode", "5"),
    ("network.dns.native_https_query", "false"),
];

/// `(permission, preference, its value)`; the names are Playwright's.
const PERMISSIONS: &[(&str, &str, &str)] = &[
    ("camera", "permissions.default.camera", "1"),
    ("clipboard-read", "dom.events.testing.asyncClipboard", "true"),
    ("clipboard-write", "dom.events.testing.asyncClipboard", "true"),
    ("geolocation", "permissions.default.geo", "1"),
    ("microphone", "permissions.default.microphone", "1"),
    ("notifications", "permissions.default.desktop-notification", "1"),
];

/// The settings of a profile, as its `user.js`; `way_out` is the port of the proxy that everything goes through.
/// A permission that Firefox has no setting for is the error.
pub(super) fn user_js(config: &Config, way_out: Option<u16>) -> Result<String, String> {
    let mut text = String::new();
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "user_pref(\"{name}\", {value});");
    };
    for (name, value) in PREFERENCES {
        set(name, value);
    }
    if let Some(port) = way_out {
        ONE_WAY_OUT.iter().for_each(|(name, value)| set(name, value));
        set("network.proxy.socks_port", &port.to_string());
    }
    for permission in &config.context.permissions {
        let Some((_, name, value)) = PERMISSIONS.iter().find(|(known, ..)| known == permission)
        else {
            return Err(permission.clone());
        };
        set(name, value);
    }
    Ok(text)
}
