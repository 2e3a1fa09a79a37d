//! Parsers for option values, in text (flags, environment) and in JSON (files). Both produce the
//! same JSON, from which [`super::Config`] is deserialized.

use std::{ops::RangeInclusive, path::Path};

use hyper::http::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use url::Url;

use super::attach::{AttachTarget, RUNNING};
use super::output_dir::OutputDir;
use super::types::{Retention, bytes};

/// A hundred years in milliseconds: the largest accepted duration.
const MAX_DURATION_MS: u64 = 3_155_760_000_000;
const MAX_VIEWPORT: u64 = 16_384;
const FACTORS: RangeInclusive<f64> = 0.1..=10.0;

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Switch,
    Text,
    Path,
    /// A file that must exist at startup.
    File,
    /// `none`, `memory`, a URL, or the path of a file.
    Store,
    /// A folder or `s3://BUCKET/PREFIX`.
    Output,
    Choice(&'static [&'static str]),
    Number {
        min: u64,
        max: u64,
    },
    Millis {
        min: u64,
    },
    Bytes,
    /// A number from 0.1 to 10.
    Factor,
    /// `1280x720`.
    Size,
    /// A URL with one of these schemes.
    Url(&'static [&'static str]),
    /// `http://host:port`, or without a scheme.
    Proxy,
    /// A browser of the user. On the command line, the value is optional.
    Attach,
    Locale,
    /// The path of a URL, such as `/troupe`; stored without a trailing slash.
    UrlPath,
    /// `7d`, `1GiB` or both.
    Retention,
    /// Several texts. One argument of the command line is split at `flag`, an environment value at
    /// `environment` (white space for `' '`).
    List {
        flag: Option<char>,
        environment: char,
        item: ItemKind,
    },
}

/// The kind of each text in a list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ItemKind {
    Text,
    File,
    /// `example.com`, `*.example.com`, an address, or `*`.
    Domain,
    /// An IP address, or a network such as `10.0.0.0/8`.
    Network,
    Choice(&'static [&'static str]),
    /// `NAME=VALUE` or `NAME: VALUE`, a header of an HTTP request.
    Header,
    /// `KEY=JSON`, a capability of a WebDriver session.
    Capability,
}

/// The source of a text, which determines how lists are split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextSource {
    Flag,
    Environment,
}

impl Kind {
    /// Parses a text. `None` if it is invalid; [`Kind::allowed`] describes valid values.
    pub fn parse(&self, text: &str, source: TextSource) -> Option<Value> {
        match *self {
            Self::Switch => match text.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(json!(true)),
                "false" | "0" | "no" | "off" => Some(json!(false)),
                _ => None,
            },
            Self::Number { .. } | Self::Millis { .. } => {
                self.check(&json!(text.trim().parse::<u64>().ok()?))
            }
            Self::Bytes => self.check(&json!(bytes(text.trim())?)),
            Self::Factor => self.check(&json!(text.trim().parse::<f64>().ok()?)),
            Self::List { flag, environment, .. } => {
                let separator = match source {
                    TextSource::Flag => flag,
                    TextSource::Environment if text.trim_start().starts_with('[') => {
                        return self.check(&serde_json::from_str(text).ok()?);
                    }
                    TextSource::Environment => Some(environment),
                };
                self.check(&Value::Array(split(text, separator)))
            }
            _ => self.check(&json!(text)),
        }
    }

    /// Checks a JSON value and converts it into the form that [`super::Config`] has.
    pub fn check(&self, value: &Value) -> Option<Value> {
        match *self {
            Self::Switch => value.as_bool().map(|_| value.clone()),
            Self::Text | Self::Path | Self::Store => not_empty(value),
            Self::File => not_empty(value).filter(is_file),
            Self::Output => OutputDir::parse(value.as_str()?).map(|_| value.clone()),
            Self::Choice(names) => {
                value.as_str().filter(|name| names.contains(name)).map(|_| value.clone())
            }
            Self::Number { min, max } => {
                whole(value).filter(|n| (min..=max).contains(n)).map(|n| json!(n))
            }
            Self::Millis { min } => {
                whole(value).filter(|n| (min..=MAX_DURATION_MS).contains(n)).map(|n| json!(n))
            }
            Self::Bytes => whole(value).filter(|n| *n >= 1).map(|n| json!(n)),
            Self::Factor => {
                value.as_f64().filter(|factor| FACTORS.contains(factor)).map(|factor| json!(factor))
            }
            Self::Size => size(value),
            Self::Url(schemes) => {
                let url = Url::parse(value.as_str()?).ok()?;
                // The URL of a socket has only a path.
                let is_complete = url.has_host() || url.scheme() == "unix";
                (schemes.contains(&url.scheme()) && is_complete).then(|| value.clone())
            }
            Self::Proxy => proxy(value.as_str()?).then(|| value.clone()),
            Self::Attach => match value {
                Value::Bool(false) => Some(Value::Null),
                Value::Bool(true) => Some(json!(RUNNING)),
                Value::Number(port) => self.check(&json!(port.to_string())),
                _ => match value.as_str()? {
                    "true" => self.check(&json!(true)),
                    "false" => self.check(&json!(false)),
                    text => AttachTarget::parse(text).map(|target| json!(target.to_string())),
                },
            },
            Self::Locale => locale(value.as_str()?).then(|| value.clone()),
            Self::UrlPath => url_path(value.as_str()?).map(|path| json!(path)),
            Self::Retention => Retention::parse(value.as_str()?).map(|_| value.clone()),
            Self::List { item, .. } => {
                let fits = |value: &Value| match item {
                    ItemKind::Text => not_empty(value).is_some(),
                    ItemKind::File => is_file(value),
                    ItemKind::Domain => value.as_str().is_some_and(is_domain),
                    ItemKind::Network => value.as_str().is_some_and(|text| network(text).is_some()),
                    ItemKind::Header => value.as_str().is_some_and(|text| header(text).is_some()),
                    ItemKind::Capability => {
                        value.as_str().is_some_and(|text| capability(text).is_some())
                    }
                    ItemKind::Choice(names) => {
                        value.as_str().is_some_and(|name| names.contains(&name))
                    }
                };
                value.as_array()?.iter().all(fits).then(|| value.clone())
            }
        }
    }

    /// Describes valid values, for the sentence "must be …".
    pub fn allowed(&self) -> String {
        match *self {
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Text | Self::Path | Self::Store => "a text that is not empty".to_owned(),
            Self::File => "the path of an existing file".to_owned(),
            Self::Output => OutputDir::ALLOWED.to_owned(),
            Self::Choice(names) => choice(names),
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Millis { min } => format!("a whole number of milliseconds from {min} to {MAX_DURATION_MS}"),
            Self::Bytes => "a number of bytes of at least 1, such as `1048576` or `10MiB`".to_owned(),
            Self::Factor => {
                format!("a number from {} to {}", FACTORS.start(), FACTORS.end())
            }
            Self::Size => format!("a width and a height from 1 to {MAX_VIEWPORT}, such as `1280x720`"),
            Self::Url(schemes) => {
                let forms: Vec<_> = schemes.iter().map(|scheme| format!("`{scheme}://…`")).collect();
                format!("a URL ({})", forms.join(", "))
            }
            Self::Proxy => {
                "a proxy's address, such as `http://host:3128`, `socks5://host:1080` or `host:3128`".to_owned()
            }
            Self::Attach => AttachTarget::allowed(),
            Self::Locale => "a language tag, such as `en-GB`".to_owned(),
            Self::UrlPath => "a path, such as `/troupe`".to_owned(),
            Self::Retention => "an age (`36h`, `7d`), a size (`1GiB`) or both (`7d,1GiB`)".to_owned(),
            Self::List { item: ItemKind::Text, .. } => "a list of texts".to_owned(),
            Self::List { item: ItemKind::File, .. } => "a list of paths of existing files".to_owned(),
            Self::List { item: ItemKind::Domain, .. } => {
                "a list of domains without scheme, port and path, such as `example.com` or `*.example.com`"
                    .to_owned()
            }
            Self::List { item: ItemKind::Network, .. } => {
                "a list of IP addresses and networks, such as `10.0.0.1` or `10.0.0.0/8`".to_owned()
            }
            Self::List { item: ItemKind::Header, .. } => {
                "a list of headers, such as `Authorization=Bearer TOKEN`".to_owned()
            }
            Self::List { item: ItemKind::Capability, .. } => {
                "a list of capabilities, such as `browserVersion=\"120\"`".to_owned()
            }
            Self::List { item: ItemKind::Choice(names), .. } => format!("a list of {}", choice(names)),
        }
    }

    /// Converts a checked value into the arguments of a command line that works in any directory.
    /// Resolves relative paths against `folder`.
    pub fn arguments(&self, value: &Value, folder: &Path) -> Vec<String> {
        let absolute = |text: &str| match Path::new(text) {
            path if path.is_absolute() => text.to_owned(),
            path => std::path::absolute(folder.join(path))
                .unwrap_or_else(|_| path.to_owned())
                .display()
                .to_string(),
        };
        match (*self, value) {
            (Self::List { flag, item, .. }, Value::Array(items)) => {
                let items = items.iter().filter_map(Value::as_str);
                let items: Vec<_> = items
                    .map(
                        |text| {
                            if item == ItemKind::File { absolute(text) } else { text.to_owned() }
                        },
                    )
                    .collect();
                match flag {
                    Some(separator) => vec![items.join(&separator.to_string())],
                    None => items,
                }
            }
            (Self::Size, Value::Object(size)) => {
                vec![format!("{}x{}", size["width"], size["height"])]
            }
            (Self::Path | Self::File, Value::String(path)) => vec![absolute(path)],
            (Self::Output, Value::String(text)) => vec![match OutputDir::parse(text) {
                Some(OutputDir::Bucket(_)) => text.clone(),
                _ => absolute(text),
            }],
            (Self::Attach, Value::String(text)) => vec![match AttachTarget::parse(text) {
                Some(AttachTarget::Folder(_)) => absolute(text),
                _ => text.clone(),
            }],
            (Self::Store, Value::String(text)) => vec![match &**text {
                "none" | "memory" | ":memory:" => text.clone(),
                url if url.contains("://") => text.clone(),
                path => absolute(path),
            }],
            (_, Value::String(text)) => vec![text.clone()],
            (_, other) => vec![other.to_string()],
        }
    }

    /// Whether its values are or contain paths, which are relative to the working directory.
    pub fn holds_paths(&self) -> bool {
        let is_list = matches!(self, Self::List { item: ItemKind::File, .. });
        is_list
            || matches!(self, Self::Path | Self::File | Self::Store | Self::Output | Self::Attach)
    }

    /// Whether a flag without a value is complete.
    pub fn has_optional_value(&self) -> bool {
        matches!(self, Self::Switch | Self::Attach)
    }

    /// Whether the word after such a flag is its value and not the next argument.
    pub fn is_optional_value(&self, text: &str) -> bool {
        self.has_optional_value() && self.parse(text, TextSource::Flag).is_some()
    }
}

/// Checks an entry of a domain list: `*`, an IP address, a host name, or `*.` and a domain.
fn is_domain(text: &str) -> bool {
    let text = text.trim();
    if text == "*" || text.parse::<std::net::IpAddr>().is_ok() {
        return true;
    }
    match (text.strip_prefix("*."), url::Host::parse(text.strip_prefix("*.").unwrap_or(text))) {
        (_, Ok(url::Host::Domain(name))) => is_host_name(&name),
        (None, Ok(_)) => true,
        _ => false,
    }
}

/// Checks a host name after IDNA processing. `url::Host` also accepts names such as `a;b`, which no
/// host can have.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    name.strip_suffix('.').unwrap_or(name).split('.').all(is_label)
}

/// Parses an IP address or a network. An address is a network with one member.
pub fn network(text: &str) -> Option<ipnet::IpNet> {
    let text = text.trim();
    text.parse().ok().or_else(|| text.parse::<std::net::IpAddr>().ok().map(ipnet::IpNet::from))
}

/// Parses `NAME=VALUE` or `NAME: VALUE`. A name contains neither character.
pub fn header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once(['=', ':'])?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
    let mut value = HeaderValue::from_str(value.trim()).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// Parses `KEY=JSON`.
pub fn capability(text: &str) -> Option<(&str, Value)> {
    let (key, json) = text.split_once('=')?;
    let key = key.trim();
    if key.is_empty() {
        return None;
    }
    Some((key, serde_json::from_str(json).ok()?))
}

/// Returns the path without a trailing slash; `None` if it is not the path of a URL without
/// escapes.
fn url_path(text: &str) -> Option<&str> {
    let path = text.trim_end_matches('/');
    let is_segment = |segment: &str| {
        let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        !matches!(segment, "" | "." | "..") && segment.bytes().all(is_character)
    };
    let fits = text.starts_with('/') && path.split('/').skip(1).all(is_segment);
    fits.then_some(path)
}

fn choice(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn not_empty(value: &Value) -> Option<Value> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(|_| value.clone())
}

fn is_file(value: &Value) -> bool {
    value.as_str().is_some_and(|path| Path::new(path).is_file())
}

/// Parses a whole number. JavaScript can write it as `5.0` or `1e3`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        // 2^53: a double represents larger whole numbers inexactly.
        (number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number))
            .then_some(number as u64)
    })
}

fn size(value: &Value) -> Option<Value> {
    let (width, height) = match value {
        Value::String(text) => {
            let (width, height) = text.split_once(['x', ','])?;
            (width.trim().parse().ok()?, height.trim().parse().ok()?)
        }
        Value::Object(object) => {
            let known = |object: &Map<String, Value>| {
                object.keys().all(|key| key == "width" || key == "height")
            };
            if !known(object) {
                return None;
            }
            (whole(object.get("width")?)?, whole(object.get("height")?)?)
        }
        _ => return None,
    };
    let fits = |side: u64| (1..=MAX_VIEWPORT).contains(&side);
    (fits(width) && fits(height)).then(|| json!({ "width": width, "height": height }))
}

fn proxy(text: &str) -> bool {
    let url =
        if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("http://{text}")) };
    url.is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https" | "socks4" | "socks5") && url.has_host()
    })
}

/// Whether a text has the syntax of a BCP 47 tag. Does not check that the browser supports the
/// language.
fn locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().is_some_and(|part| {
        (2..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphabetic())
    });
    language
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.chars().all(|c| c.is_ascii_alphanumeric())
        })
}

fn split(text: &str, separator: Option<char>) -> Vec<Value> {
    match separator {
        None => vec![json!(text)],
        Some(' ') => text.split_whitespace().map(|part| json!(part)).collect(),
        Some(separator) => text
            .split(separator)
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| json!(part))
            .collect(),
    }
}
