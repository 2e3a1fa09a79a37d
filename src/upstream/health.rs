//! The supervision policy: when a server counts as hung, when it is restarted, and when restarts
//! pause. A pure state machine, without processes and clocks.
//!
//! healthy → unhealthy → restarting → healthy, and after too many restarts, degraded → restarting.

use std::{collections::VecDeque, time::Duration};

use crate::config::UpstreamConfig;

/// The limits of a supervisor.
#[derive(Debug, Clone)]
pub(super) struct RestartPolicy {
    /// The number of consecutive missed pings after which a server counts as hung.
    pub misses: u32,
    /// The pause before the first restart. Doubled before each further restart in the window.
    pub pause: Duration,
    /// The maximum number of restarts in the window.
    pub restarts: usize,
    pub window: Duration,
}

impl From<&UpstreamConfig> for RestartPolicy {
    fn from(config: &UpstreamConfig) -> Self {
        Self {
            misses: config.ping_misses,
            pause: config.restart_pause,
            restarts: config.restarts,
            window: config.restart_window,
        }
    }
}

/// The state of a server. Times are relative to the creation of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthState {
    Starting,
    /// It is running, and has missed this many consecutive pings.
    Healthy {
        missed: u32,
    },
    /// It does not answer and must be ended.
    Unhealthy,
    /// It is restarted at this time.
    Restarting {
        at: Duration,
    },
    /// It was restarted too often. The next attempt is at this time.
    Degraded {
        until: Duration,
    },
}

/// An event for the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HealthEvent {
    /// It has started, and the handshake has succeeded.
    Started,
    /// A ping was answered.
    Answered,
    /// A ping was not answered in time.
    Missed,
    /// It is gone, or could not be started.
    Gone,
    /// The time of the next start has come.
    Due,
}

/// The state machine.
#[derive(Debug, Clone)]
pub(super) struct Health {
    policy: RestartPolicy,
    state: HealthState,
    /// The times of the restarts in the window.
    restarted: VecDeque<Duration>,
}

impl Health {
    pub fn new(policy: RestartPolicy) -> Self {
        Self { policy, state: HealthState::Starting, restarted: VecDeque::new() }
    }

    /// Returns the state after `event`. Events that are impossible in a state change nothing.
    pub fn on(&mut self, event: HealthEvent, now: Duration) -> HealthState {
        self.state = match (self.state, event) {
            (HealthState::Starting, HealthEvent::Started)
            | (HealthState::Healthy { .. }, HealthEvent::Answered) => {
                HealthState::Healthy { missed: 0 }
            }
            (HealthState::Healthy { missed }, HealthEvent::Missed)
                if missed + 1 < self.policy.misses =>
            {
                HealthState::Healthy { missed: missed + 1 }
            }
            (HealthState::Healthy { .. }, HealthEvent::Missed) => HealthState::Unhealthy,
            (
                HealthState::Starting | HealthState::Healthy { .. } | HealthState::Unhealthy,
                HealthEvent::Gone,
            ) => self.after_end(now),
            (
                HealthState::Restarting { at } | HealthState::Degraded { until: at },
                HealthEvent::Due,
            ) if at <= now => {
                self.forget_old(now);
                self.restarted.push_back(now);
                HealthState::Starting
            }
            (unchanged, _) => unchanged,
        };
        self.state
    }

    fn after_end(&mut self, now: Duration) -> HealthState {
        self.forget_old(now);
        let already = self.restarted.len();
        if already < self.policy.restarts {
            let doubled = u32::try_from(already).ok().and_then(|times| 2_u32.checked_pow(times));
            let pause = self.policy.pause.saturating_mul(doubled.unwrap_or(u32::MAX));
            return HealthState::Restarting { at: now.saturating_add(pause) };
        }
        let first = self.restarted.front().copied().unwrap_or(now);
        HealthState::Degraded { until: first.saturating_add(self.policy.window) }
    }

    fn forget_old(&mut self, now: Duration) {
        while self.restarted.front().is_some_and(|at| at.saturating_add(self.policy.window) <= now)
        {
            self.restarted.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn default_policy() -> RestartPolicy {
        RestartPolicy::from(&UpstreamConfig::default())
    }

    #[test]
    fn the_default_policy_restarts_three_times_and_then_pauses() {
        let mut health = Health::new(default_policy());
        assert_eq!(health.on(HealthEvent::Started, seconds(0)), HealthState::Healthy { missed: 0 });
        assert_eq!(health.on(HealthEvent::Missed, seconds(30)), HealthState::Healthy { missed: 1 });
        assert_eq!(health.on(HealthEvent::Missed, seconds(60)), HealthState::Healthy { missed: 2 });
        assert_eq!(health.on(HealthEvent::Missed, seconds(90)), HealthState::Unhealthy);
        let mut now = seconds(90);
        for pause in [1, 2, 4] {
            let due = now + seconds(pause);
            assert_eq!(health.on(HealthEvent::Gone, now), HealthState::Restarting { at: due });
            assert_eq!(health.on(HealthEvent::Due, due), HealthState::Starting);
            assert_eq!(health.on(HealthEvent::Started, due), HealthState::Healthy { missed: 0 });
            now = due;
        }
        // 5 minutes after the first of the three.
        assert_eq!(
            health.on(HealthEvent::Gone, now),
            HealthState::Degraded { until: seconds(391) }
        );
        assert_eq!(
            health.on(HealthEvent::Due, seconds(390)),
            HealthState::Degraded { until: seconds(391) }
        );
        assert_eq!(health.on(HealthEvent::Due, seconds(391)), HealthState::Starting);
        assert_eq!(
            health.on(HealthEvent::Started, seconds(392)),
            HealthState::Healthy { missed: 0 }
        );
    }

    #[test]
    fn an_answer_resets_the_count_of_missed_pings() {
        let mut health = Health::new(default_policy());
        health.on(HealthEvent::Started, seconds(0));
        health.on(HealthEvent::Missed, seconds(30));
        health.on(HealthEvent::Missed, seconds(60));
        health.on(HealthEvent::Answered, seconds(90));
        assert_eq!(
            health.on(HealthEvent::Missed, seconds(120)),
            HealthState::Healthy { missed: 1 }
        );
    }

    fn any_event() -> impl Strategy<Value = HealthEvent> {
        prop_oneof![
            Just(HealthEvent::Started),
            Just(HealthEvent::Answered),
            Just(HealthEvent::Missed),
            Just(HealthEvent::Gone),
            Just(HealthEvent::Due),
        ]
    }

    prop_compose! {
        fn any_policy()(
            misses in 1..5_u32,
            pause in 1..5_000_u64,
            restarts in 0..5_usize,
            window in 1..400_000_u64,
        ) -> RestartPolicy {
            RestartPolicy {
                misses, restarts, pause: Duration::from_millis(pause), window: Duration::from_millis(window),
            }
        }
    }

    proptest! {
        /// For any events: at most as many restarts in a window as the policy allows, and none
        /// before it is due.
        #[test]
        fn it_is_never_restarted_too_often_or_too_soon(
            policy in any_policy(),
            steps in proptest::collection::vec((any_event(), 0..120_000_u64), 0..200),
        ) {
            let (window, most) = (policy.window, policy.restarts.max(1));
            let mut health = Health::new(policy);
            let (mut now, mut state, mut restarts) = (Duration::ZERO, HealthState::Starting, Vec::new());
            for (event, passed) in steps {
                now += Duration::from_millis(passed);
                let after = health.on(event, now);
                if let (HealthState::Restarting { at } | HealthState::Degraded { until: at }, HealthState::Starting) = (state, after) {
                    prop_assert!(at <= now && event == HealthEvent::Due);
                    restarts.push(now);
                }
                state = after;
            }
            for (first, from) in restarts.iter().enumerate() {
                let within = restarts[first..].iter().filter(|at| **at < *from + window).count();
                prop_assert!(within <= most, "{within} restarts within {window:?} from {from:?}");
            }
        }

        /// It counts as hung after exactly as many consecutive misses as the policy says.
        #[test]
        fn only_consecutive_misses_count_as_a_hang(
            policy in any_policy(),
            answered in proptest::collection::vec(any::<bool>(), 0..100),
        ) {
            let most = policy.misses;
            let mut health = Health::new(policy);
            health.on(HealthEvent::Started, Duration::ZERO);
            let mut row = 0;
            for answered in answered {
                let state = health.on(if answered { HealthEvent::Answered } else { HealthEvent::Missed }, Duration::ZERO);
                row = if answered { 0 } else { row + 1 };
                if row == most {
                    prop_assert_eq!(state, HealthState::Unhealthy);
                    break;
                }
                prop_assert_eq!(state, HealthState::Healthy { missed: row });
            }
        }

        /// From every state, it becomes healthy again once the server can be started.
        #[test]
        fn it_recovers_from_every_state(
            policy in any_policy(),
            steps in proptest::collection::vec((any_event(), 0..120_000_u64), 0..100),
        ) {
            let mut health = Health::new(policy);
            let (mut now, mut state) = (Duration::ZERO, HealthState::Starting);
            for (event, passed) in steps {
                now += Duration::from_millis(passed);
                state = health.on(event, now);
            }
            for _ in 0..4 {
                state = match state {
                    HealthState::Healthy { .. } => break,
                    HealthState::Starting => health.on(HealthEvent::Started, now),
                    HealthState::Unhealthy => health.on(HealthEvent::Gone, now),
                    HealthState::Restarting { at } | HealthState::Degraded { until: at } => {
                        now = now.max(at);
                        health.on(HealthEvent::Due, now)
                    }
                };
            }
            prop_assert!(matches!(state, HealthState::Healthy { .. }), "{state:?}");
        }
    }
}
