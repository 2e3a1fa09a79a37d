//! The switches of Chromium's command line. Merges Troupe's switches with the user's.

use std::collections::HashMap;

/// Switches of every launch. They turn off the browser's own requests, throttling and prompts.
pub(super) const ALWAYS: &[&str] = &[
    "--allow-pre-commit-input",
    // With this cache, each navigation creates a new browsing context group, which is slow.
    "--disable-back-forward-cache",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--export-tagged-pdf",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
];

/// Switches of a launch without a window.
pub(super) const HEADLESS: &[&str] = &[
    "--hide-scrollbars",
    "--mute-audio",
    // Reports a mouse to media queries, as on a desktop.
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
];

/// Disabled features.
const DISABLED_FEATURES: &[&str] = &[
    "AutoExpandDetailsElement",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    // Delays every task of a page after input until the next frame: up to 16 ms for each action.
    "DeferRendererTasksAfterInput",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "HttpsUpgrades",
    "ImprovedCookieControls",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    // Creates a new frame with all its DevTools agents for each document, which slows navigation.
    "RenderDocument",
    "ThirdPartyStoragePartitioning",
    "Translate",
    // With it, each window of full Chrome loads two `chrome://omnibox-popup` pages in their own
    // process, which is slow.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
];

const DISABLE_FEATURES: &str = "--disable-features";
const ENABLE_FEATURES: &str = "--enable-features";

/// Switches whose value is a comma-separated list. Chromium uses only the last occurrence of a
/// switch.
const LISTS: &[&str] = &[
    DISABLE_FEATURES,
    ENABLE_FEATURES,
    "--blink-settings",
    "--disable-blink-features",
    "--enable-blink-features",
    "--load-extension",
];

pub(super) fn disabled_features() -> String {
    format!("{DISABLE_FEATURES}={}", DISABLED_FEATURES.join(","))
}

/// Joins the occurrences of each switch that takes a list, in order. A feature that the user
/// enables leaves Troupe's list of disabled features: Chromium disables what both lists name.
pub(super) fn merge(arguments: Vec<String>) -> Vec<String> {
    let list_of = |argument: &str| {
        let (name, values) = argument.split_once('=')?;
        let at = LISTS.iter().position(|list| *list == name)?;
        Some((LISTS[at], values.to_owned()))
    };
    let mut lists: HashMap<&str, Vec<String>> = HashMap::new();
    for (name, values) in arguments.iter().filter_map(|argument| list_of(argument)) {
        let list = lists.entry(name).or_default();
        for value in values.split(',').filter(|value| !value.is_empty()) {
            if !list.iter().any(|known| known == value) {
                list.push(value.to_owned());
            }
        }
    }
    let enabled = lists.get(ENABLE_FEATURES).cloned().unwrap_or_default();
    if let Some(disabled) = lists.get_mut(DISABLE_FEATURES) {
        let is_enabled = |name: &str| enabled.iter().any(|feature| feature_name(feature) == name);
        disabled.retain(|name| !(DISABLED_FEATURES.contains(&name.as_str()) && is_enabled(name)));
    }
    let mut merged = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match list_of(&argument) {
            None => merged.push(argument),
            // The first occurrence takes the place of all.
            Some((name, _)) => {
                merged.extend(
                    lists.remove(name).map(|values| format!("{name}={}", values.join(","))),
                );
            }
        }
    }
    merged
}

/// Returns the name in `Name<Trial.Group:parameter/value`.
fn feature_name(feature: &str) -> &str {
    feature.split(['<', ':']).next().unwrap_or(feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(user: &[&str]) -> Vec<String> {
        let own = [disabled_features(), "--blink-settings=primaryHoverType=2".to_owned()];
        merge(own.into_iter().chain(user.iter().map(|&argument| argument.to_owned())).collect())
    }

    fn values<'a>(arguments: &'a [String], name: &str) -> Vec<&'a str> {
        let of_name: Vec<_> = arguments
            .iter()
            .filter_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
            .collect();
        assert_eq!(of_name.len(), 1, "{name} occurs once in {arguments:?}");
        of_name[0].split(',').collect()
    }

    #[test]
    fn features_that_the_user_disables_are_added_to_the_list() {
        let arguments = merged(&["--disable-features=Mine,Translate", "--disable-features=Other"]);
        let features = values(&arguments, DISABLE_FEATURES);
        for name in ["RenderDocument", "Translate", "Mine", "Other"] {
            assert_eq!(features.iter().filter(|feature| **feature == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_feature_that_the_user_enables_is_not_disabled() {
        let arguments =
            merged(&["--enable-features=Translate<Trial:a/b,New", "--enable-features=Newer"]);
        assert!(!values(&arguments, DISABLE_FEATURES).contains(&"Translate"));
        assert!(values(&arguments, DISABLE_FEATURES).contains(&"RenderDocument"));
        assert_eq!(values(&arguments, ENABLE_FEATURES), ["Translate<Trial:a/b", "New", "Newer"]);
    }

    #[test]
    fn a_feature_that_the_user_disables_and_enables_stays_in_both_lists() {
        let arguments = merged(&["--enable-features=Mine", "--disable-features=Mine"]);
        assert!(values(&arguments, DISABLE_FEATURES).contains(&"Mine"));
        assert_eq!(values(&arguments, ENABLE_FEATURES), ["Mine"]);
    }

    #[test]
    fn other_lists_are_joined_and_other_switches_are_kept_in_order() {
        let user = [
            "--blink-settings=imagesEnabled=false",
            "--lang=de",
            "--enable-blink-features=A",
            "--lang=fr",
        ];
        let arguments = merged(&user);
        assert_eq!(
            values(&arguments, "--blink-settings"),
            ["primaryHoverType=2", "imagesEnabled=false"]
        );
        assert_eq!(values(&arguments, "--enable-blink-features"), ["A"]);
        let languages: Vec<_> =
            arguments.iter().filter(|argument| argument.starts_with("--lang")).collect();
        assert_eq!(languages, ["--lang=de", "--lang=fr"]);
    }
}
