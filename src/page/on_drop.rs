//! What must be done when a wait is given up: at a time-out, or when its call is cancelled and dropped.

/// Runs a function when it is dropped, unless it is disarmed before.
pub(super) struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    pub fn new(work: F) -> Self {
        Self(Some(work))
    }

    /// The wait has come to its end: nothing is to be done.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            work();
        }
    }
}
