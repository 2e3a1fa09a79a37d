//! Firefox preferences for automation, in addition to those of its remote agent.

use std::fmt::Write as _;

use crate::config::Config;

/// `(name, value as JSON)`
const PREFERENCES: &[(&str, &str)] = &[
    // No telemetry, updates or first-run pages.
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
    // Requests for icons would appear in the request log.
    ("browser.chrome.site_icons", "false"),
    // `window.open` opens tabs, whatever the requested size.
    ("browser.link.open_newwindow", "3"),
    ("browser.link.open_newwindow.restriction", "0"),
    ("browser.tabs.loadInBackground", "true"),
    ("dom.allow_scripts_to_close_windows", "true"),
    ("dom.disable_open_during_load", "false"),
    (
        "dom.popup_allowed_events",
        "\"change click dblclick auxclick mousedown mouseup pointerdown pointerup notificationclick reset submit touchend contextmenu\"",
    ),
    // `window.focus()` focuses each page, so that every page considers itself active.
    ("dom.disable_window_flip", "false"),
    ("focusmanager.testmode", "true"),
    ("dom.min_background_timeout_value", "4"),
    ("dom.timeout.enable_budget_timer_throttling", "false"),
    ("dom.disable_beforeunload", "false"),
    // Firefox reports no events for documents that it restores from the back/forward cache.
    ("browser.sessionhistory.max_total_viewers", "0"),
    ("fission.bfcacheInParent", "false"),
    // Input goes to the addressed page instead of the selected tab.
    ("remote.events.async.enabled", "false"),
    ("browser.download.always_ask_before_handling_new_types", "false"),
    ("browser.download.open_pdf_attachments_inline", "false"),
    ("browser.helperApps.deleteTempFileOnExit", "true"),
    ("pdfjs.disabled", "true"),
    ("dom.security.https_first", "false"),
    ("dom.security.https_only_mode", "false"),
    ("security.sandbox.warn_unprivileged_namespaces", "false"),
    // Report long-running scripts after 1 s instead of 10 s. Only reported scripts can be
    // terminated.
    ("dom.ipc.reportProcessHangs", "true"),
    ("dom.max_script_run_time", "1"),
    ("dom.max_script_run_time.require_critical_input", "false"),
    // Otherwise a command that a page crash interrupts would run again, in the parent process.
    ("remote.retry-on-abort", "false"),
    ("signon.rememberSignons", "false"),
    ("widget.gtk.overlay-scrollbars.enabled", "true"),
];

/// The preferences for a browser that may reach the network only through Troupe's proxy.
const PROXY_ONLY: &[(&str, &str)] = &[
    ("network.proxy.type", "1"),
    ("network.proxy.socks", "\"127.0.0.1\""),
    ("network.proxy.socks_version", "5"),
    ("network.proxy.socks_remote_dns", "true"),
    ("network.proxy.socks5_remote_dns", "true"),
    ("network.proxy.no_proxies_on", "\"\""),
    // Use the proxy for localhost, too, and never bypass it if it does not answer.
    ("network.proxy.allow_hijacking_localhost", "true"),
    ("network.proxy.failover_direct", "false"),
    ("network.proxy.allow_bypass", "false"),
    // WebRTC, HTTP/3, WebTransport and DNS over HTTPS would bypass the proxy.
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

/// Returns the `user.js` of a profile. `proxy_port` is the port of the proxy for all traffic.
///
/// # Errors
/// Returns the permission if Firefox has no preference for it.
pub(super) fn user_js(config: &Config, proxy_port: Option<u16>) -> Result<String, String> {
    let mut text = String::new();
    let mut set = |name: &str, value: &str| {
        let _ = writeln!(text, "user_pref(\"{name}\", {value});");
    };
    for (name, value) in PREFERENCES {
        set(name, value);
    }
    if let Some(port) = proxy_port {
        PROXY_ONLY.iter().for_each(|(name, value)| set(name, value));
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
