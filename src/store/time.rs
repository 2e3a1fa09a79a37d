//! Reads and formats times.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};

/// Returns the current time in milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

/// Formats milliseconds since 1970 as `2026-11-21T12:31:07.250Z`.
pub fn iso8601(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(DateTime::from_timestamp_millis);
    time.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_formatted_as_in_sqlite(millis in 0_u64..253_402_300_799_999) {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            let seconds = i64::try_from(millis / 1000).unwrap();
            let sqlite: String = connection
                .query_row("SELECT strftime('%Y-%m-%dT%H:%M:%S', ?1, 'unixepoch')", [seconds], |row| row.get(0))
                .unwrap();
            prop_assert_eq!(iso8601(millis), format!("{sqlite}.{:03}Z", millis % 1000));
        }
    }
}
