//! Writes to the record on a separate thread. Concurrent writes become one transaction. Callers
//! wait for their writes only for a limited time. If the file is locked or the disk is full or
//! slow, the call succeeds, but its data may be missing in the record.

use std::{
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode as Sqlite};
use tokio::sync::oneshot;

use super::retention::Trimmer;
use crate::{
    config::Retention,
    error::{ErrorCode, Result, TroupeError},
};

/// Maximum number of queued writes. Further ones are lost, and a warning is logged.
const MAX_QUEUED: usize = 10_000;
/// Maximum size of the queued writes in bytes.
const MAX_QUEUED_BYTES: usize = 128 * 1024 * 1024;
/// Maximum number of writes in a transaction.
const MAX_BATCH: usize = 512;
/// How long a call waits for its write.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause between two attempts if another process has locked the file.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A write. It is repeated if its transaction fails.
type WriteOperation = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;

struct QueuedWrite {
    work: WriteOperation,
    bytes: usize,
    done: Option<oneshot::Sender<()>>,
    /// Called once, with whether the write was committed.
    settle: Option<Box<dyn FnOnce(bool) + Send>>,
}

impl QueuedWrite {
    fn new(
        bytes: usize,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Self {
        Self { work: Box::new(work), bytes, done: None, settle: None }
    }
}

/// Accepts writes. When it is dropped, the thread finishes the queue and ends.
pub(super) struct Writer {
    jobs: SyncSender<QueuedWrite>,
    state: Arc<WriterState>,
}

#[derive(Default)]
struct WriterState {
    /// The number of writes that are queued or running.
    queued: AtomicUsize,
    queued_bytes: AtomicUsize,
    /// Whether the last write failed. Callers do not wait then.
    behind: AtomicBool,
    /// The number of lost writes.
    lost: AtomicUsize,
}

impl WriterState {
    fn release(&self, bytes: usize) {
        self.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Writer {
    pub fn start(
        connection: Connection,
        retention: Retention,
        path: Option<PathBuf>,
    ) -> Result<Self> {
        let (jobs, queue) = sync_channel(MAX_QUEUED);
        let state = Arc::<WriterState>::default();
        let loop_state = Arc::downgrade(&state);
        let name = path.map_or("memory".to_owned(), |path| path.display().to_string());
        let trimmer = Trimmer::new(retention);
        let thread = WriterThread {
            connection,
            state: loop_state,
            trimmer,
            name,
            failing: false,
            broken: false,
        };
        thread::Builder::new()
            .name("troupe-record".to_owned())
            .spawn(move || run(thread, &queue))
            .map_err(|error| {
                TroupeError::new(
                    ErrorCode::InternalError,
                    format!("the thread that writes the record could not be started: {error}"),
                )
            })?;
        Ok(Self { jobs, state })
    }

    /// Queues a write of the given number of bytes.
    pub fn queue(
        &self,
        bytes: usize,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) {
        self.send(QueuedWrite::new(bytes, work));
    }

    /// Queues a write of `bytes` bytes. `settle` is called once, with whether the write was
    /// committed.
    pub fn queue_and_settle(
        &self,
        bytes: usize,
        work: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
        settle: impl FnOnce(bool) + Send + 'static,
    ) {
        self.send(QueuedWrite { settle: Some(Box::new(settle)), ..QueuedWrite::new(bytes, work) });
    }

    /// Like `queue`. The future is ready when the write is on disk, or after the timeout.
    pub fn write<W>(&self, bytes: usize, work: W) -> impl Future<Output = ()> + Send + use<W>
    where
        W: Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    {
        let (done, written) = oneshot::channel();
        let waits = !self.state.behind.load(Ordering::Acquire);
        self.send(QueuedWrite { done: waits.then_some(done), ..QueuedWrite::new(bytes, work) });
        async move {
            if waits {
                let _ = tokio::time::timeout(CALL_TIMEOUT, written).await;
            }
        }
    }

    /// Waits until all earlier writes are on disk or lost.
    pub fn barrier(&self) -> impl Future<Output = ()> + Send + use<> {
        // If nothing is queued, as usual, the thread is not woken.
        let written = (self.state.queued.load(Ordering::Acquire) > 0).then(|| {
            let (done, written) = oneshot::channel();
            self.send(QueuedWrite { done: Some(done), ..QueuedWrite::new(0, |_| Ok(())) });
            written
        });
        async move {
            if let Some(written) = written {
                let _ = written.await;
            }
        }
    }

    fn send(&self, job: QueuedWrite) {
        let bytes = job.bytes;
        let queued = self.state.queued_bytes.fetch_add(bytes, Ordering::AcqRel);
        self.state.queued.fetch_add(1, Ordering::AcqRel);
        let rejected = if queued.saturating_add(bytes) > MAX_QUEUED_BYTES {
            Some(job)
        } else {
            self.jobs.try_send(job).err().map(|rejected| match rejected {
                TrySendError::Full(job) | TrySendError::Disconnected(job) => job,
            })
        };
        if let Some(job) = rejected {
            self.state.release(bytes);
            self.state.lost.fetch_add(1, Ordering::AcqRel);
            if let Some(settle) = job.settle {
                settle(false);
            }
        }
    }
}

/// The writer thread and its state.
struct WriterThread {
    connection: Connection,
    /// Dropped with the owner of the writer.
    state: Weak<WriterState>,
    trimmer: Trimmer,
    name: String,
    /// Whether the last transaction failed, so that only the first failure is logged.
    failing: bool,
    /// Whether the file is damaged. Then it is not changed.
    broken: bool,
}

/// Runs the writer thread.
fn run(mut thread: WriterThread, queue: &Receiver<QueuedWrite>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(MAX_BATCH - 1));
        let bytes = batch.iter().map(|job| job.bytes).sum();
        let is_committed = thread.commit(&mut batch);
        for job in batch {
            thread.release(&job);
            if let Some(settle) = job.settle {
                settle(is_committed);
            }
            if let Some(done) = job.done {
                let _ = done.send(());
            }
        }
        thread.log_lost();
        thread.trim(bytes);
    }
}

impl WriterThread {
    fn trim(&mut self, bytes: usize) {
        if !self.broken
            && !self.failing
            && let Err(error) = self.trimmer.trim(&self.connection, bytes)
        {
            tracing::debug!(%error, "the record could not be trimmed");
        }
    }

    fn release(&self, job: &QueuedWrite) {
        if let Some(state) = self.state.upgrade() {
            state.release(job.bytes);
        }
    }

    /// Writes the batch. Waits as long as another process locks the file. Returns whether the batch
    /// was committed.
    fn commit(&mut self, batch: &mut [QueuedWrite]) -> bool {
        while !self.broken {
            match self.attempt(batch) {
                Ok(()) => {
                    if self.failing {
                        tracing::warn!("the record {} can be written again", self.name);
                    }
                    self.set_failing(false);
                    return true;
                }
                Err(error) => {
                    let code = error.sqlite_error_code();
                    self.log_failure(&error);
                    self.set_failing(true);
                    // Callers continue without waiting for the write.
                    batch.iter_mut().for_each(|job| drop(job.done.take()));
                    match code {
                        Some(Sqlite::DatabaseBusy | Sqlite::DatabaseLocked)
                            if self.state.upgrade().is_some() =>
                        {
                            thread::park_timeout(RETRY_PAUSE);
                        }
                        Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => self.broken = true,
                        _ => return false,
                    }
                }
            }
        }
        false
    }

    fn attempt(&self, batch: &[QueuedWrite]) -> rusqlite::Result<()> {
        // Dropping the transaction without a commit rolls it back.
        let transaction = rusqlite::Transaction::new_unchecked(
            &self.connection,
            rusqlite::TransactionBehavior::Immediate,
        )?;
        for job in batch {
            match (job.work)(&transaction) {
                // A write that violates a constraint must not fail the others.
                Err(error) if error.sqlite_error_code() == Some(Sqlite::ConstraintViolation) => {
                    tracing::warn!(%error, "an entry of the record violates a constraint and is not written");
                }
                other => other?,
            }
        }
        transaction.commit()
    }

    fn set_failing(&mut self, failing: bool) {
        self.failing = failing;
        if let Some(state) = self.state.upgrade() {
            state.behind.store(failing, Ordering::Release);
        }
    }

    fn log_failure(&self, error: &rusqlite::Error) {
        if !self.failing {
            tracing::warn!(
                "the record {} cannot be written ({error}); calls go on without it",
                self.name
            );
        }
    }

    fn log_lost(&self) {
        let lost = self.state.upgrade().map_or(0, |state| state.lost.swap(0, Ordering::AcqRel));
        if lost > 0 {
            tracing::warn!("{lost} entries of the record are lost: the queue of writes was full");
        }
    }
}
