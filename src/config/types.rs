//! The values that a setting can have, as plain types. Knows nothing but serde.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which browser is driven. `Chrome` and `MsEdge` are installed channels of Chromium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BrowserKind {
    Chromium,
    Chrome,
    MsEdge,
    Firefox,
    Webkit,
}

impl BrowserKind {
    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Chrome => "chrome",
            Self::MsEdge => "msedge",
            Self::Firefox => "firefox",
            Self::Webkit => "webkit",
        }
    }

    /// Whether the Chromium engine drives it.
    pub fn is_chromium(self) -> bool {
        matches!(self, Self::Chromium | Self::Chrome | Self::MsEdge)
    }
}

impl fmt::Display for BrowserKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What `--session-timeout` counts from: creation (as the seeds define) or the last call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expiry {
    Fixed,
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Stdio,
    Http,
    Websocket,
}

/// How a supervised upstream server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamTransport {
    Stdio,
    Http,
}

/// What an action's answer tells of the page afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AfterAction {
    None,
    Changes,
    Snapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Responses {
    Full,
    Ref,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

/// The page's inner size in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewport {
    pub width: u32,
    pub height: u32,
}

/// How long and how much of the record is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Retention {
    /// Milliseconds.
    pub age: u64,
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: 7 * DAY, bytes: 1 << 30 }
    }
}

const DAY: u64 = 86_400_000;

impl Retention {
    /// Reads `7d`, `1GiB` or both; what is not said is as it is by default.
    pub fn parse(text: &str) -> Option<Self> {
        let mut retention = Self::default();
        for part in text.split(',').map(str::trim) {
            let age = part.strip_suffix('d').map(|days| (days, DAY));
            let age = age.or_else(|| part.strip_suffix('h').map(|hours| (hours, DAY / 24)));
            match age {
                Some((number, unit)) => retention.age = number.parse::<u64>().ok()?.checked_mul(unit)?,
                None => retention.bytes = super::value::bytes(part)?,
            }
        }
        Some(retention)
    }
}

impl From<Retention> for String {
    fn from(Retention { age, bytes }: Retention) -> Self {
        let age = if age % DAY == 0 { format!("{}d", age / DAY) } else { format!("{}h", age * 24 / DAY) };
        let bytes = if bytes % (1 << 30) == 0 { format!("{}GiB", bytes >> 30) } else { bytes.to_string() };
        format!("{age},{bytes}")
    }
}

impl TryFrom<String> for Retention {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("this is no retention")
    }
}

/// A text that must not show in logs: `Debug` masks it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Masked(pub String);

impl fmt::Debug for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A [`std::time::Duration`] as a whole number of milliseconds, as every option and file key gives it.
pub(super) mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// As [`millis`], for a time that may be absent (never).
pub(super) mod optional_millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::millis::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}
