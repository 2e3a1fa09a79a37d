//! Writes to the record on a separate thread. Concurrent writes become one transaction. Callers
//! wait for their writes only for a limited time. What happens then is the [`FailurePolicy`].

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{
    failures::{DatabaseError, DatabaseResult, FailureKind, RecordingFailure, WriteResult},
    retention::Trimmer,
    tables::{RecordTables, RecordWriter},
};
use crate::{
    config::{Retention, StoreFailure},
    error::{ErrorCode, Result, TroupeError},
};

/// Maximum number of queued writes. Further ones are lost, and a warning is logged.
const MAX_QUEUED: usize = 10_000;
/// Maximum size of the queued writes in bytes.
const MAX_QUEUED_BYTES: usize = 128 * 1024 * 1024;
/// Maximum number of writes in a transaction.
const MAX_BATCH: usize = 512;
/// The pause after the first failed attempt to write. It doubles with each further attempt.
const FIRST_RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum pause between two attempts.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// What happens to a call that is not recorded in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailurePolicy {
    /// How long a call waits for its writes.
    pub timeout: Duration,
    pub failure: StoreFailure,
}

impl FailurePolicy {
    fn refuses(self) -> bool {
        self.failure == StoreFailure::Refuse
    }
}

/// A write. It is repeated if its transaction fails.
type WriteOperation = Box<dyn Fn(&dyn RecordTables) -> DatabaseResult<()> + Send>;

struct QueuedWrite {
    work: WriteOperation,
    bytes: usize,
    /// Whether it has its own transaction, so that its failure does not concern other writes.
    is_isolated: bool,
    /// The error with which it was excluded from the transaction.
    error: Option<DatabaseError>,
    done: Option<oneshot::Sender<WriteResult>>,
    /// Called once, with whether the write was committed.
    settle: Option<Box<dyn FnOnce(bool) + Send>>,
}

impl QueuedWrite {
    fn new(
        bytes: usize,
        work: impl Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
    ) -> Self {
        let work = Box::new(work);
        Self { work, bytes, is_isolated: false, error: None, done: None, settle: None }
    }
}

/// Accepts writes. When it is dropped, the thread finishes the queue and ends.
pub(super) struct Writer {
    jobs: SyncSender<QueuedWrite>,
    state: Arc<WriterState>,
    policy: FailurePolicy,
}

#[derive(Default)]
struct WriterState {
    /// The number of writes that are queued or running.
    queued: AtomicUsize,
    queued_bytes: AtomicUsize,
    /// Why the last transaction failed.
    failure: Mutex<Option<String>>,
    /// The number of lost writes since the last warning.
    overflowed: AtomicUsize,
    /// The number of all lost writes.
    lost: AtomicU64,
}

impl WriterState {
    fn release(&self, bytes: usize) {
        self.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Writer {
    /// Starts the thread. `name` is the name of the record in messages.
    pub fn start(
        writer: impl RecordWriter + 'static,
        retention: Retention,
        name: String,
        policy: FailurePolicy,
    ) -> Result<Self> {
        let (jobs, queue) = sync_channel(MAX_QUEUED);
        let state = Arc::<WriterState>::default();
        let thread = WriterThread {
            writer: Box::new(writer),
            state: Arc::downgrade(&state),
            trimmer: Trimmer::new(retention),
            name,
            policy,
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
        Ok(Self { jobs, state, policy })
    }

    /// Queues a write of the given number of bytes.
    pub fn queue(
        &self,
        bytes: usize,
        work: impl Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
    ) {
        self.send(QueuedWrite::new(bytes, work));
    }

    /// Queues a write of `bytes` bytes. `settle` is called once, with whether the write was
    /// committed.
    pub fn queue_and_settle(
        &self,
        bytes: usize,
        work: impl Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
        settle: impl FnOnce(bool) + Send + 'static,
    ) {
        self.send(QueuedWrite { settle: Some(Box::new(settle)), ..QueuedWrite::new(bytes, work) });
    }

    /// Like `queue_and_settle`, for work in its own transaction.
    pub fn run_isolated(
        &self,
        work: impl Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
        settle: impl FnOnce(bool) + Send + 'static,
    ) {
        self.send(QueuedWrite {
            is_isolated: true,
            settle: Some(Box::new(settle)),
            ..QueuedWrite::new(0, work)
        });
    }

    /// Like `queue`. The future is ready when the write is committed, or after the timeout.
    pub fn write<W>(
        &self,
        bytes: usize,
        work: W,
    ) -> impl Future<Output = WriteResult> + Send + use<W>
    where
        W: Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
    {
        let (done, written) = oneshot::channel();
        let (policy, state) = (self.policy, self.state.clone());
        let waits = policy.refuses() || state.failure.lock().is_none();
        self.send(QueuedWrite { done: waits.then_some(done), ..QueuedWrite::new(bytes, work) });
        async move {
            if !waits {
                return Ok(());
            }
            match tokio::time::timeout(policy.timeout, written).await {
                Ok(Ok(Err(RecordingFailure::TakenOver))) => Err(RecordingFailure::TakenOver),
                _ if !policy.refuses() => Ok(()),
                Ok(Ok(result)) => result,
                Ok(Err(_)) => {
                    Err(RecordingFailure::Unavailable("the queue of writes is full".into()))
                }
                Err(_) => {
                    let timeout = policy.timeout.as_millis();
                    let why = state.failure.lock().clone();
                    let why = why.unwrap_or_else(|| "it did not answer".to_owned());
                    Err(RecordingFailure::Unavailable(format!("{why}; waited {timeout} ms")))
                }
            }
        }
    }

    /// Waits until all earlier writes are committed or lost.
    pub fn barrier(&self) -> impl Future<Output = ()> + Send + use<> {
        let idle = self.state.queued.load(Ordering::Acquire) == 0;
        let written = (!idle).then(|| {
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

    /// Returns why the last transaction failed; `None` if it succeeded.
    pub fn failure(&self) -> Option<String> {
        self.state.failure.lock().clone()
    }

    /// Returns whether calls fail that cannot be recorded.
    pub fn refuses(&self) -> bool {
        self.policy.refuses()
    }

    /// Returns how long a call waits for its writes.
    pub fn timeout(&self) -> Duration {
        self.policy.timeout
    }

    /// Returns the number of writes that are queued or running.
    pub fn queued(&self) -> usize {
        self.state.queued.load(Ordering::Acquire)
    }

    /// Returns the number of writes that were lost.
    pub fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::Acquire)
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
            self.state.overflowed.fetch_add(1, Ordering::AcqRel);
            self.state.lost.fetch_add(1, Ordering::AcqRel);
            if let Some(settle) = job.settle {
                settle(false);
            }
        }
    }
}

/// The writer thread and its state.
struct WriterThread {
    writer: Box<dyn RecordWriter>,
    /// Dropped with the owner of the writer.
    state: Weak<WriterState>,
    trimmer: Trimmer,
    name: String,
    policy: FailurePolicy,
    /// Whether the last transaction failed, so that only the first failure is logged.
    failing: bool,
    /// Whether the file is damaged. Then it is not changed.
    broken: bool,
}

/// Runs the writer thread.
fn run(mut thread: WriterThread, queue: &Receiver<QueuedWrite>) {
    let mut next = None;
    while let Some(first) = next.take().or_else(|| queue.recv().ok()) {
        let mut batch = vec![first];
        // An isolated write has its own transaction. It may wait for a lock of another server,
        // which must not wait for the locks of other writes.
        while !batch[0].is_isolated && batch.len() < MAX_BATCH && next.is_none() {
            match queue.try_recv() {
                Ok(job) if job.is_isolated => next = Some(job),
                Ok(job) => batch.push(job),
                Err(_) => break,
            }
        }
        let bytes = batch.iter().map(|job| job.bytes).sum();
        let committed = thread.commit(&mut batch);
        for job in batch {
            thread.settle(job, &committed);
        }
        thread.log_lost();
        thread.trim(bytes);
    }
}

impl WriterThread {
    fn trim(&mut self, bytes: usize) {
        if !self.broken
            && !self.failing
            && let Err(error) = self.trimmer.trim(&mut *self.writer, bytes)
        {
            tracing::debug!(%error, "the record could not be trimmed");
        }
    }

    /// Reports the result of a write, whose transaction is `committed`.
    fn settle(&self, job: QueuedWrite, committed: &DatabaseResult<()>) {
        let error = job.error.as_ref().or(committed.as_ref().err());
        if let Some(state) = self.state.upgrade() {
            state.release(job.bytes);
            if error.is_some() && !job.is_isolated {
                state.lost.fetch_add(1, Ordering::AcqRel);
            }
        }
        if let Some(settle) = job.settle {
            settle(error.is_none());
        }
        if let Some(done) = job.done {
            let _ = done.send(match error {
                None => Ok(()),
                Some(DatabaseError { kind: FailureKind::TakenOver, .. }) => {
                    Err(RecordingFailure::TakenOver)
                }
                Some(DatabaseError { kind: FailureKind::InvalidEntry, message }) => {
                    Err(RecordingFailure::Invalid(message.clone()))
                }
                Some(error) => Err(RecordingFailure::Unavailable(error.message.clone())),
            });
        }
    }

    /// Writes the batch. Retries as long as the database is unavailable. Fails if the batch is
    /// lost.
    fn commit(&mut self, batch: &mut [QueuedWrite]) -> DatabaseResult<()> {
        let damaged = || DatabaseError {
            kind: FailureKind::Damaged,
            message: "the file is damaged".to_owned(),
        };
        let mut pause = FIRST_RETRY_PAUSE;
        while !self.broken {
            let (failed, error) = match self.attempt(batch) {
                Ok(()) => {
                    if self.failing {
                        tracing::warn!("the record {} can be written again", self.name);
                    }
                    self.set_failure(None);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            if let Some(job) = failed.and_then(|index| batch.get_mut(index)) {
                let is_own =
                    matches!(error.kind, FailureKind::InvalidEntry | FailureKind::TakenOver);
                if is_own || job.is_isolated && error.kind == FailureKind::Other {
                    if !job.is_isolated {
                        tracing::warn!(%error, "an entry of the record cannot be written");
                    }
                    // The others are written without it.
                    job.error = Some(error);
                    continue;
                }
            }
            if !self.failing {
                let effect = match self.policy.failure {
                    StoreFailure::Refuse => "calls fail until it can be written again",
                    StoreFailure::Continue => "calls go on without it",
                };
                tracing::warn!("the record {} cannot be written ({error}); {effect}", self.name);
            }
            self.set_failure(Some(error.message.clone()));
            if !self.policy.refuses() {
                // Callers continue without waiting for the write.
                batch.iter_mut().for_each(|job| drop(job.done.take()));
            }
            match error.kind {
                FailureKind::Unavailable if self.state.upgrade().is_some() => {
                    thread::park_timeout(pause);
                    pause = (2 * pause).min(MAX_RETRY_PAUSE);
                }
                FailureKind::Damaged => self.broken = true,
                _ => return Err(error),
            }
        }
        Err(damaged())
    }

    /// Writes the batch in one transaction. On failure, returns the index of the write that failed,
    /// if it was one of them.
    fn attempt(&mut self, batch: &[QueuedWrite]) -> Result<(), (Option<usize>, DatabaseError)> {
        let mut failed = None;
        let committed = self.writer.transact(&mut |tables| {
            for (index, job) in batch.iter().enumerate().filter(|(_, job)| job.error.is_none()) {
                (job.work)(tables).inspect_err(|_| failed = Some(index))?;
            }
            Ok(())
        });
        committed.map_err(|error| (failed, error))
    }

    fn set_failure(&mut self, failure: Option<String>) {
        self.failing = failure.is_some();
        if let Some(state) = self.state.upgrade() {
            *state.failure.lock() = failure;
        }
    }

    fn log_lost(&self) {
        let lost =
            self.state.upgrade().map_or(0, |state| state.overflowed.swap(0, Ordering::AcqRel));
        if lost > 0 {
            tracing::warn!("{lost} entries of the record are lost: the queue of writes was full");
        }
    }
}
