//! The types of option values, as plain types. Depends only on serde.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Defines an enum whose values have names: in the configuration, in `--help` and in messages.
macro_rules! named_values {
    ($($(#[$about:meta])* $name:ident { $($value:ident = $text:literal,)* })*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[serde(rename = $text)] $value,)*
        }

        impl $name {
            /// The names of all values.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    )*};
}

named_values! {
    /// The browser to drive. `Chrome` and `MsEdge` are installed channels of Chromium.
    BrowserKind {
        Chromium = "chromium",
        Firefox = "firefox",
        Webkit = "webkit",
        Chrome = "chrome",
        MsEdge = "msedge",
    }

    /// Which contexts sessions have in a remote browser. In the default context, they are its tabs.
    RemoteContext {
        New = "new",
        Default = "default",
    }

    /// Whether the server ends a remote browser that no session uses, or only disconnects.
    RemoteClose {
        Disconnect = "disconnect",
        Terminate = "terminate",
    }

    /// Whether each call extends the lifetime of its session, or the session expires
    /// `--session-timeout` after its creation.
    Expiry {
        Fixed = "fixed",
        Idle = "idle",
    }

    Transport {
        Stdio = "stdio",
        Http = "http",
        Websocket = "websocket",
    }

    /// The transport between Troupe and an upstream server.
    UpstreamTransport {
        Stdio = "stdio",
        Http = "http",
    }

    /// Which part of the page the result of an action contains.
    AfterAction {
        None = "none",
        Changes = "changes",
        Snapshot = "snapshot",
    }

    /// Whether the result of a navigation contains a short snapshot.
    AfterNavigation {
        Snapshot = "snapshot",
        None = "none",
    }

    /// What happens to calls that cannot be recorded.
    StoreFailure {
        Refuse = "refuse",
        Continue = "continue",
    }

    Responses {
        Full = "full",
        Ref = "ref",
    }

    /// The language of generated code in results of the Playwright set.
    Codegen {
        Typescript = "typescript",
        Python = "python",
        Java = "java",
        Csharp = "csharp",
        None = "none",
    }

    /// The least severe level of console messages in results of the Playwright set.
    ConsoleThreshold {
        Error = "error",
        Warning = "warning",
        Info = "info",
        Debug = "debug",
    }

    /// How results of the Playwright set name files.
    FilePaths {
        Relative = "relative",
        Absolute = "absolute",
    }

    /// Whether results of the Playwright set contain images.
    ImageResponses {
        Allow = "allow",
        Omit = "omit",
        Only = "only",
    }

    /// Whether actions of the Playwright set write a snapshot.
    SnapshotMode {
        Full = "full",
        None = "none",
    }

    LogLevel {
        Error = "error",
        Warn = "warn",
        Info = "info",
        Debug = "debug",
        Trace = "trace",
    }

    LogDestination {
        Stdout = "stdout",
        Stderr = "stderr",
        File = "file",
    }

    LogFormat {
        Text = "text",
        Json = "json",
    }
}

impl BrowserKind {
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

/// The page's inner size in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Viewport {
    pub width: u32,
    pub height: u32,
}

/// The maximum age and size of the record.
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
    /// Parses `7d`, `1GiB` or both; a missing part has its default.
    pub fn parse(text: &str) -> Option<Self> {
        let mut retention = Self::default();
        for part in text.split(',').map(str::trim) {
            let age = part.strip_suffix('d').map(|days| (days, DAY));
            let age = age.or_else(|| part.strip_suffix('h').map(|hours| (hours, DAY / 24)));
            match age {
                Some((number, unit)) => {
                    retention.age = number.parse::<u64>().ok()?.checked_mul(unit)?
                }
                None => retention.bytes = bytes(part)?,
            }
        }
        Some(retention)
    }
}

impl From<Retention> for String {
    fn from(Retention { age, bytes }: Retention) -> Self {
        let age =
            if age % DAY == 0 { format!("{}d", age / DAY) } else { format!("{}h", age * 24 / DAY) };
        let bytes =
            if bytes % (1 << 30) == 0 { format!("{}GiB", bytes >> 30) } else { bytes.to_string() };
        format!("{age},{bytes}")
    }
}

impl TryFrom<String> for Retention {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("the retention is not valid")
    }
}

/// `10MiB`, `512 KiB`, `1GiB` or a plain number.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A text that is not logged: `Debug` masks it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Masked(pub String);

impl fmt::Debug for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Serializes a [`std::time::Duration`] as a whole number of milliseconds, the unit of all options
/// and file keys.
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

/// Like [`millis`], for an optional time (`None` means never).
pub(super) mod optional_millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::millis::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}
