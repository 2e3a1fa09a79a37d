//! The failures of the record.

/// The reason why an operation has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The database is locked or cannot be reached. The transaction can be repeated.
    Unavailable,
    /// The database ended the transaction in favor of another one. It can be repeated at once.
    Conflict,
    /// The database is damaged. No further transaction is attempted.
    Damaged,
    /// An entry violates a constraint. The other entries of the transaction can be written.
    InvalidEntry,
    /// Another server uses the session of the entry.
    TakenOver,
    /// Any other failure, such as a full disk.
    Other,
}

impl FailureKind {
    /// Returns whether the same transaction can succeed later.
    pub fn is_temporary(self) -> bool {
        matches!(self, Self::Unavailable | Self::Conflict)
    }
}

/// A failed operation.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(super) struct DatabaseError {
    pub kind: FailureKind,
    pub message: String,
}

pub(super) type DatabaseResult<T> = Result<T, DatabaseError>;

/// Why an entry is not in the record.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordingFailure {
    #[error("the record cannot be written ({0})")]
    Unavailable(String),
    /// The entry violates a constraint of the tables.
    #[error("the record has rejected the entry ({0})")]
    Invalid(String),
    #[error("another server has taken over the session")]
    TakenOver,
}

/// The result of a write. With `--store-failure continue`, it is `Ok` even if the entry was not
/// written.
pub type WriteResult = Result<(), RecordingFailure>;
