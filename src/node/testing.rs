//! A manager for property tests of sessions, with an in-memory browser and a stopped clock. It is
//! in a separate file because napi ignores the `cfg` of single methods.

use std::sync::Arc;

use napi_derive::napi;

use super::manager::{LazyRegistry, NativeManager, read_config};
use crate::{session::VirtualClock, tools::Registry};

#[napi]
impl NativeManager {
    /// For property tests: a manager with an in-memory browser and a stopped clock.
    #[napi(factory, catch_unwind)]
    pub fn in_memory(config: String) -> Self {
        let clock = Arc::new(VirtualClock::new(1_700_000_000_000));
        let registry = read_config(&config)
            .and_then(|config| Registry::in_memory(Arc::new(config), clock.clone()))
            .map(Arc::new);
        Self {
            lazy_registry: LazyRegistry::done(registry),
            connection: Arc::default(),
            clock: Some(clock),
        }
    }

    /// Advances the clock of an in-memory manager.
    #[napi(catch_unwind)]
    pub fn advance(&self, millis: f64) {
        if let Some(clock) = &self.clock {
            // JavaScript's numbers are floats, and the clock has whole milliseconds.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to the range of the type"
            )]
            clock.advance(millis.clamp(0.0, 9e15) as u64);
        }
    }
}
