//! From layers to a [`Config`]: the merge, then what only shows once everything is known: options that
//! hold nothing yet, devices, contradictions.

use std::collections::BTreeMap;

use figment::Figment;
use figment::providers::Serialized;
use serde_json::Value;

use super::error::ConfigError;
use super::layer::{Layer, Origin, Setting, joined};
use super::options::OPTIONS;
use super::{Config, Transport, device};

/// Who set which option last.
type Origins = BTreeMap<&'static str, Origin>;

pub(super) fn finish(
    file: &[Setting],
    environment: &[Setting],
    flags: Vec<Setting>,
    warnings: Vec<String>,
) -> Result<Config, ConfigError> {
    let flags = joined(flags);
    let layers = [("file", file), ("environment", environment), ("command line", flags.as_slice())];
    let mut config = merge(&layers)?;
    let mut origins = Origins::new();
    for (_, settings) in layers {
        origins.extend(settings.iter().map(|setting| (setting.option.name, setting.origin.clone())));
    }
    config.warnings = warnings;
    if let Some(origin @ Origin::Flag(_)) = origins.get("auth-token") {
        config.warnings.push(format!(
            "{origin} shows the token in the process list; --auth-token-file or TROUPE_AUTH_TOKEN do not"
        ));
    }
    refuse_what_is_not_built(&mut config, &origins)?;
    refuse_contradictions(&config, &origins)?;
    take_sandbox_argument(&mut config, &origins)?;
    device::apply(&mut config.context, origins.get("device"))?;
    Ok(config)
}

/// Later layers over earlier ones, all over the defaults.
pub(super) fn merge(layers: &[(&'static str, &[Setting])]) -> Result<Config, ConfigError> {
    let defaults = Figment::from(Serialized::defaults(Config::default()));
    layers
        .iter()
        .fold(defaults, |figment, (name, settings)| figment.merge(Layer { name, settings }))
        .extract()
        .map_err(|error| ConfigError::Inconsistent(error.to_string().replace('\n', " ")))
}

fn refuse_what_is_not_built(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    let json = |config: &Config| {
        serde_json::to_value(config).map_err(|error| ConfigError::Inconsistent(error.to_string()))
    };
    let (now, default) = (json(config)?, json(&Config::default())?);
    let mut tolerated = Vec::new();
    for option in OPTIONS.iter().filter(|option| !option.is_built()) {
        let Some(origin) = origins.get(option.name) else { continue };
        if at(&now, option.at) == at(&default, option.at) {
            continue;
        }
        match origin {
            Origin::Key { key, .. } if option.nested == Some(key) => tolerated.push(format!("`{key}`")),
            _ => return Err(ConfigError::NotBuilt { origin: origin.clone() }),
        }
    }
    if !tolerated.is_empty() {
        config
            .warnings
            .push(format!("read, but without effect yet in this version: {}", tolerated.join(", ")));
    }
    Ok(())
}

/// The value at a dotted path.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

fn refuse_contradictions(config: &Config, origins: &Origins) -> Result<(), ConfigError> {
    let origin = |name: &'static str| origins.get(name).cloned().unwrap_or(Origin::Default(name));
    let refuse = |first, second, why| {
        Err(ConfigError::Contradiction { first: origin(first), second: origin(second), why })
    };
    if config.isolated && config.user_data_dir.is_some() {
        return refuse("isolated", "user-data-dir", "an isolated session has no profile folder");
    }
    if config.browser_endpoint.is_some() {
        const RUNS: &str = "a browser that runs already is not launched";
        if config.executable_path.is_some() {
            return refuse("browser-endpoint", "executable-path", RUNS);
        }
        if config.user_data_dir.is_some() {
            return refuse("browser-endpoint", "user-data-dir", RUNS);
        }
        if !config.browser_args.is_empty() {
            return refuse("browser-endpoint", "browser-arg", RUNS);
        }
    }
    if config.context.proxy_bypass.is_some() && config.context.proxy_server.is_none() {
        return Err(ConfigError::Needs {
            origin: origin("proxy-bypass"),
            needed: "proxy-server",
            why: "there is no proxy to go past",
        });
    }
    if config.auth_token.is_some() && config.auth_token_file.is_some() {
        return refuse("auth-token", "auth-token-file", "there is one token");
    }
    if config.connect.is_some() && config.transport != Transport::Stdio {
        return refuse("connect", "transport", "the face of another server speaks stdio");
    }
    if config.upstream.command.is_some() && config.connect.is_some() {
        return refuse("upstream", "connect", "the server that is connected to has its own");
    }
    let has_token = config.auth_token.is_some() || config.auth_token_file.is_some();
    if config.transport != Transport::Stdio && !config.binds_loopback() && !has_token {
        return Err(ConfigError::Needs {
            origin: origin("host"),
            needed: "auth-token-file",
            why: "other machines can reach that address",
        });
    }
    if config.responses == super::Responses::Ref && config.store.as_deref() == Some("none") {
        return refuse("responses", "store", "the content would be nowhere");
    }
    if config.pool.min_browsers > config.pool.max_browsers {
        return refuse("pool-min-browsers", "pool-max-browsers", "the least is more than the most");
    }
    Ok(())
}

/// `--no-sandbox` among the browser's own arguments (as in seed 004's example) is our `sandbox: false`.
fn take_sandbox_argument(config: &mut Config, origins: &Origins) -> Result<(), ConfigError> {
    const ARGUMENT: &str = "--no-sandbox";
    if !config.browser_args.iter().any(|argument| argument == ARGUMENT) {
        return Ok(());
    }
    if let (true, Some(first), Some(second)) =
        (config.sandbox, origins.get("sandbox"), origins.get("browser-arg"))
    {
        return Err(ConfigError::Contradiction {
            first: first.clone(),
            second: second.clone(),
            why: "one keeps the sandbox, the other switches it off",
        });
    }
    config.browser_args.retain(|argument| argument != ARGUMENT);
    config.sandbox = false;
    Ok(())
}
