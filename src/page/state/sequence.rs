//! Positions in the sequence of a page's events.

/// A position in the sequence of a page's events. Later events have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventSequence(pub(super) u64);

#[cfg(test)]
impl EventSequence {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
