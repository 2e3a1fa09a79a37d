//! For property tests of sessions: a manager whose browser is in memory and whose clock stands still.
//! A file of its own, since napi does not see the `cfg` of a single method.

use std::sync::Arc;

use napi_derive::napi;

use super::manager::{NativeManager, read_config};
use crate::{
    config::Config,
    engine::memory::MemoryEngine,
    session::{SessionManager, VirtualClock},
    store::Store,
    tools::Registry,
};

#[napi]
impl NativeManager {
    /// For property tests: a manager whose browser is in memory and whose clock stands still.
    #[napi(factory, catch_unwind)]
    pub fn in_memory(config: String) -> Self {
        let clock = Arc::new(VirtualClock::new(1_700_000_000_000));
        let registry = read_config(&config)
            .and_then(|config| {
                let store = config.store.clone().unwrap_or_else(|| "none".to_owned());
                Registry::new(SessionManager::new(
                    Arc::new(config),
                    Arc::new(MemoryEngine::default()),
                    clock.clone(),
                    Store::open(&Config { store: Some(store), ..Config::default() })?,
                ))
            })
            .map(Arc::new);
        Self { registry, connection: Arc::default(), clock: Some(clock) }
    }

    /// Moves the clock of a manager in memory on.
    #[napi(catch_unwind)]
    pub fn advance(&self, millis: f64) {
        if let Some(clock) = &self.clock {
            // JavaScript's numbers are floats; a time is a whole one.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped to what fits"
            )]
            clock.advance(millis.clamp(0.0, 9e15) as u64);
        }
    }
}
