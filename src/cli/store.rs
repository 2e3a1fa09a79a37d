//! `troupe store migrate`: copies a record into another one.

use super::sessions::counted;
use crate::config::{Config, Retention};
use crate::error::{ErrorCode, Result, TroupeError};
use crate::store::{RecordLocation, Store, examine_database};

/// What `troupe store` does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StoreAction {
    /// Copies the record `source` into the record `target`. Both are values of `--store`.
    Migrate { source: String, target: String },
}

pub(super) async fn run(config: &Config, action: StoreAction) -> Result<String> {
    let StoreAction::Migrate { source, target } = action;
    migrate(config, source, target).await
}

async fn migrate(config: &Config, source: String, target: String) -> Result<String> {
    // The next server that uses the target applies its limits.
    let retention = Retention { age: u64::MAX, bytes: u64::MAX };
    let record = |store: String| Config { store: Some(store), retention, ..config.clone() };
    let (source, target) = (record(source), record(target));
    let (from, to) = (RecordLocation::of(&source)?, RecordLocation::of(&target)?);
    if let RecordLocation::File(path) = &from
        && !path.exists()
    {
        return Err(TroupeError::new(
            ErrorCode::RecordNotFound,
            format!("there is no record at {from}"),
        )
        .suggestion("`troupe doctor` prints the location of the record"));
    }
    if from == to {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("{from} cannot be copied into itself"),
        )
        .suggestion("pass the location of another record as the target"));
    }
    let (source, target) = (open(&source, &from)?, open(&target, &to)?);
    let migrated = source.migrate(&target).await;
    source.close().await;
    target.close().await;
    let migrated = migrated?;
    let copied = format!(
        "Copied {} and {} from {from} to {to}",
        counted(migrated.sessions, "session"),
        counted(migrated.calls, "call")
    );
    Ok(match migrated.kept {
        0 => copied,
        kept => format!("{copied}; {kept} were there already and are unchanged"),
    })
}

/// Opens a record that is in a file or in a database.
fn open(config: &Config, location: &RecordLocation) -> Result<Store> {
    let unusable = |what: &str| {
        TroupeError::new(ErrorCode::InvalidParameters, format!("{location} {what}"))
            .suggestion("pass the path of an SQLite file, or postgres://HOST/DATABASE")
    };
    match location {
        RecordLocation::File(_) => {}
        RecordLocation::Postgres(url) => examine_database(url)?,
        RecordLocation::None | RecordLocation::Memory => {
            return Err(unusable("is not a record that can be copied"));
        }
    }
    let store = Store::open(config)?;
    if store.is_durable() { Ok(store) } else { Err(unusable("cannot be opened for writing")) }
}
