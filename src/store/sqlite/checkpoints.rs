//! Runs the checkpoints of SQLite's write-ahead log on a separate thread. A checkpoint waits for
//! the disk. Without the thread, the call whose write fills the log would wait for it.

use std::{
    path::Path,
    sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    thread,
};

use rusqlite::{Connection, OpenFlags, hooks::Wal};

/// Number of pages in the log that trigger a checkpoint, the default of SQLite.
const PAGES: i32 = 1_000;
/// At this many pages, the writer runs the checkpoint itself, and its callers wait.
const MAX_PAGES: i32 = 16 * PAGES;

/// Starts a thread that checkpoints the log of `writer`, until that is closed.
pub(super) fn start(writer: &mut Connection, path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let (request, requests) = sync_channel(1);
    let started = thread::Builder::new()
        .name("troupe-log".to_owned())
        .spawn(move || run_checkpoints(&connection, &requests));
    match started {
        Ok(_) => request_checkpoints(writer, request),
        // Without the thread, SQLite runs the checkpoints as part of writes.
        Err(error) => {
            tracing::debug!(%error, "the thread for checkpoints of the record could not be started");
            Ok(())
        }
    }
}

/// Requests a checkpoint after every `PAGES` pages, in place of SQLite's automatic checkpoint.
fn request_checkpoints(writer: &mut Connection, request: SyncSender<()>) -> rusqlite::Result<()> {
    let mut next = PAGES;
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        // SQLite has restarted the log.
        if pages < next - PAGES {
            next = PAGES;
        }
        if pages >= MAX_PAGES {
            // The commit itself has succeeded.
            let _ = log.checkpoint();
        } else if pages >= next {
            next = pages + PAGES;
            // If the channel is full, a checkpoint is pending.
            let _: Result<(), TrySendError<()>> = request.try_send(());
        }
        Ok(())
    }))
}

/// Runs the checkpoints. Ends when the connection of the writer is closed, which drops the sender.
fn run_checkpoints(connection: &Connection, requests: &Receiver<()>) {
    while requests.recv().is_ok() {
        // A passive checkpoint neither blocks nor is blocked. Pages in use wait for the next one.
        let result = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        if let Err(error) = result {
            tracing::debug!(%error, "a checkpoint of the record has failed");
        }
    }
}
