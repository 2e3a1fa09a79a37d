//! Reads and formats times.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400_000;

/// Returns the current time in milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}

/// Formats milliseconds since 1970 as `2026-11-21T12:31:07.250Z`.
pub fn iso8601(millis: u64) -> String {
    let (days, rest) = (millis / DAY, millis % DAY);
    let (year, month, day) = civil(days);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z",
        rest % 1000
    )
}

/// Returns the date of a day, counted from 1970. Computes with years that begin in March, so that
/// the leap day is the last day of a year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
