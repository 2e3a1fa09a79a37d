//! The settings from the environment: `TROUPE_` and the option's name in capitals.

use std::{ffi::OsString, path::Path};

use troupe_client::SESSION;

use super::error::{ConfigError, hint, one_line};
use super::layer::Setting;
use super::options::{self, ConfigOption};
use super::origin::Origin;
use super::value::{Kind, TextSource};

const PREFIX: &str = "TROUPE_";
/// The prefix of the variables of @playwright/mcp.
pub(super) const PLAYWRIGHT_PREFIX: &str = "PLAYWRIGHT_MCP_";
/// Variables for the process of an upstream server: the folder for its files, its session, and its
/// port. They are not options, so an upstream server that is itself Troupe ignores them.
pub const UPSTREAM_OUTPUT_DIR: &str = "TROUPE_UPSTREAM_OUTPUT_DIR";
pub const UPSTREAM_SESSION_ID: &str = "TROUPE_UPSTREAM_SESSION_ID";
pub const UPSTREAM_PORT: &str = "TROUPE_UPSTREAM_PORT";
const NO_OPTIONS: [&str; 4] = [UPSTREAM_OUTPUT_DIR, UPSTREAM_SESSION_ID, UPSTREAM_PORT, SESSION];

/// The settings of the environment.
#[derive(Debug, Default)]
pub(super) struct EnvironmentSettings {
    pub settings: Vec<Setting>,
    /// A warning for each variable that matches no option.
    pub warnings: Vec<String>,
}

/// Reads every variable that begins with `TROUPE_` and names an option. An empty one counts as not
/// set, because the configuration files of clients often pass empty strings. A variable that names
/// no option is a warning and not an error: other programs also set variables with this prefix.
/// Service links of Kubernetes are ignored silently.
pub(super) fn settings(
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<EnvironmentSettings, ConfigError> {
    let is_option = |name: &str| name.starts_with(PREFIX) && !NO_OPTIONS.contains(&name);
    let mut options: Vec<_> = variables.into_iter().filter(|(name, _)| is_option(name)).collect();
    // Sorted, so that each start reports the same error.
    options.sort();
    let mut found = EnvironmentSettings::default();
    let settings = &mut found.settings;
    for (name, text) in options {
        if is_service_link(&name, &text) {
            continue;
        }
        let Some((option, negated)) = options::by_variable(&name) else {
            let near = near(&name);
            let hint = hint(near.as_deref());
            found.warnings.push(format!(
                "ignored the unknown environment variable `{}`{hint}",
                one_line(&name)
            ));
            continue;
        };
        if text.is_empty() {
            continue;
        }
        let setting = Setting::from_text(
            option,
            negated,
            &text,
            TextSource::Environment,
            Origin::Variable(name),
        )?;
        if let Some(first) = settings.iter().find(|other| std::ptr::eq(other.option, option)) {
            return Err(ConfigError::Twice { first: first.origin.clone(), second: setting.origin });
        }
        settings.push(setting);
    }
    Ok(found)
}

/// Returns the variables that contain paths, with absolute paths: for a process with another
/// working directory than `folder`. Variables that are not valid are left out.
pub fn absolute_variables(
    variables: impl IntoIterator<Item = (String, String)>,
    folder: &Path,
) -> Vec<(String, String)> {
    let settings = settings(variables).unwrap_or_default().settings;
    let absolute = settings.into_iter().filter_map(|Setting { option, value, origin }| {
        let Origin::Variable(name) = origin else { return None };
        let separator = match option.kind {
            Kind::List { environment, .. } => environment.to_string(),
            _ => String::new(),
        };
        let paths = option.kind.arguments(&value, folder).join(&separator);
        option.kind.holds_paths().then_some((name, paths))
    });
    absolute.collect()
}

/// Adds the variables of @playwright/mcp to `found`, unless Troupe's own variables set the same.
/// Variables that name no option are ignored, as @playwright/mcp does.
pub(super) fn add_playwright_settings(
    found: &mut EnvironmentSettings,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<(), ConfigError> {
    let mut named: Vec<_> = variables
        .into_iter()
        .filter(|(name, text)| name.starts_with(PLAYWRIGHT_PREFIX) && !text.is_empty())
        .collect();
    named.sort();
    for (name, text) in named {
        let own = format!("{PREFIX}{}", &name[PLAYWRIGHT_PREFIX.len()..]);
        let own = if own == SECRETS_FILE { "TROUPE_SECRETS" } else { &own };
        let Some((option, negated)) = options::by_variable(own) else { continue };
        let is_set = found.settings.iter().any(|setting| std::ptr::eq(setting.option, option));
        if !is_set {
            let origin = Origin::Variable(name);
            let setting =
                Setting::from_text(option, negated, &text, TextSource::Environment, origin)?;
            found.settings.push(setting);
        }
    }
    Ok(())
}

/// The name of `TROUPE_SECRETS` in @playwright/mcp, with Troupe's prefix.
const SECRETS_FILE: &str = "TROUPE_SECRETS_FILE";

/// Whether Kubernetes sets this variable in each pod for a Service whose name begins with `troupe`
/// (<https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables>), or
/// Docker for a link.
fn is_service_link(name: &str, text: &str) -> bool {
    const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
    let has_protocol_url = || {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_uppercase());
        scheme.is_some_and(|scheme| PROTOCOLS.contains(&&*scheme))
    };
    // `TROUPE_PORT_8931_TCP`, and with `_PROTO`, `_PORT` or `_ADDR` appended.
    let names_port = || {
        let name = ["_PROTO", "_PORT", "_ADDR"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        let Some((name, protocol)) = name.rsplit_once('_') else { return false };
        let Some((name, port)) = name.rsplit_once('_') else { return false };
        name.ends_with("_PORT") && port.parse::<u16>().is_ok() && PROTOCOLS.contains(&protocol)
    };
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.ends_with("_PORT") && has_protocol_url()
        || names_port()
}

fn near(name: &str) -> Option<String> {
    let known: Vec<_> = options::OPTIONS.iter().map(ConfigOption::variable).collect();
    // Compares names without the common prefix, which would make all of them similar.
    let known = known.iter().map(|name| &name[PREFIX.len()..]);
    super::nearest(&name[PREFIX.len()..], known).map(|name| format!("{PREFIX}{name}"))
}

/// Returns the names of this process's variables that configure Troupe. An upstream server must not
/// inherit them, because they may contain the token.
pub fn own_variables() -> impl Iterator<Item = OsString> {
    variables_with(&[PREFIX])
}

/// Returns the same, and the variables of @playwright/mcp. Installers and commands that start
/// remote browsers must not inherit these variables.
pub fn server_variables() -> impl Iterator<Item = OsString> {
    variables_with(&[PREFIX, PLAYWRIGHT_PREFIX])
}

/// Returns the same, and the variables of the S3 store for files. Browsers run untrusted code and
/// must not inherit its credentials.
pub fn variables_hidden_from_browsers() -> impl Iterator<Item = OsString> {
    variables_with(&[PREFIX, PLAYWRIGHT_PREFIX, "AWS_"])
}

fn variables_with(prefixes: &'static [&str]) -> impl Iterator<Item = OsString> {
    let has_prefix = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(move |name| name.to_str().is_some_and(has_prefix))
}
