//! The order of the calls of a client, the calls that wait for a free session, and locks by session
//! id.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Notify, OwnedMutexGuard},
    time::Instant,
};

use super::clients::ConnectionId;

/// The calls of a client that have arrived and have not entered the queue of their session yet.
#[derive(Default)]
pub(super) struct CallOrder {
    waiting: Mutex<(u64, BTreeSet<u64>)>,
    changed: Notify,
}

impl CallOrder {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeSet<u64>)> {
        self.waiting.lock()
    }

    /// Takes the next turn.
    pub fn arrive(self: &Arc<Self>) -> CallTurn {
        let mut waiting = self.lock();
        waiting.0 += 1;
        let number = waiting.0;
        waiting.1.insert(number);
        CallTurn { number, order: self.clone() }
    }
}

/// The position of a call in the order of its connection. Dropping it lets the next call continue.
pub struct CallTurn {
    number: u64,
    order: Arc<CallOrder>,
}

impl CallTurn {
    /// Waits until every earlier call was admitted or canceled.
    pub async fn wait(&self) {
        loop {
            let mut changed = pin!(self.order.changed.notified());
            changed.as_mut().enable();
            if self.order.lock().1.first().is_none_or(|first| *first >= self.number) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for CallTurn {
    fn drop(&mut self) {
        self.order.lock().1.remove(&self.number);
        self.order.changed.notify_waiters();
    }
}

/// The calls that wait for a free session. One of them at a time has its turn to take a session.
/// Turns alternate between the clients, so that a client with many calls does not delay the calls
/// of others. The calls of one client have their turns in the order of arrival.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<CallQueue>);

#[derive(Default)]
struct CallQueue {
    /// When each call began to wait, by its number.
    since: BTreeMap<u64, Instant>,
    /// The call that has its turn.
    current: Option<u64>,
    /// The calls without a turn. The first client is next.
    clients: VecDeque<ClientCalls>,
}

/// The waiting calls of a client: their numbers, and how each is notified of its turn.
struct ClientCalls {
    client: ConnectionId,
    calls: VecDeque<(u64, Arc<Notify>)>,
}

impl CallQueue {
    /// Gives the turn to the next call.
    fn advance(&mut self) {
        self.current = None;
        let Some(mut next) = self.clients.pop_front() else { return };
        if let Some((number, turn)) = next.calls.pop_front() {
            self.current = Some(number);
            turn.notify_one();
        }
        if !next.calls.is_empty() {
            self.clients.push_back(next);
        }
    }

    /// Removes a call. Its turn ends.
    fn remove(&mut self, number: u64) {
        self.since.remove(&number);
        if self.current == Some(number) {
            self.advance();
            return;
        }
        self.clients.retain_mut(|ClientCalls { calls, .. }| {
            calls.retain(|(waiting, _)| *waiting != number);
            !calls.is_empty()
        });
    }
}

impl WaitingCalls {
    /// Adds a call of `client`, until the result is dropped.
    pub fn enter(&self, client: &ConnectionId) -> WaitingCall<'_> {
        let mut queue = self.0.lock();
        let number = queue.since.last_key_value().map_or(0, |(last, _)| last + 1);
        queue.since.insert(number, Instant::now());
        let turn = Arc::<Notify>::default();
        let call = (number, turn.clone());
        match queue.clients.iter_mut().find(|waiting| waiting.client == *client) {
            Some(waiting) => waiting.calls.push_back(call),
            None => {
                let calls = VecDeque::from([call]);
                queue.clients.push_back(ClientCalls { client: client.clone(), calls });
            }
        }
        if queue.current.is_none() {
            queue.advance();
        }
        WaitingCall { calls: self, number, turn }
    }

    pub fn count(&self) -> usize {
        self.0.lock().since.len()
    }

    /// Returns how long the first call has waited. Zero if no call waits.
    pub fn longest_wait(&self) -> Duration {
        self.0.lock().since.first_key_value().map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}

/// A call that waits for a free session. Dropping it ends its turn.
pub(super) struct WaitingCall<'a> {
    calls: &'a WaitingCalls,
    number: u64,
    turn: Arc<Notify>,
}

impl WaitingCall<'_> {
    /// Waits until the call has its turn.
    pub async fn turn(&self) {
        while self.calls.0.lock().current != Some(self.number) {
            self.turn.notified().await;
        }
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(self.number);
    }
}

/// One lock per session id. An entry is kept as long as a task holds or awaits its lock.
#[derive(Default)]
pub struct SessionLocks(Mutex<HashMap<Arc<str>, Arc<tokio::sync::Mutex<()>>>>);

impl SessionLocks {
    /// Waits until no other task holds the lock of the session `id`, and takes it.
    pub async fn lock(&self, id: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            // The map has the only reference to a lock that is free.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(id.into()).or_default().clone()
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use proptest::prelude::*;

    use super::*;

    /// Returns the calls whose turn has come, and ends their turns, until none waits.
    fn serve(
        calls: &WaitingCalls,
        waiting: Vec<(&'static str, WaitingCall<'_>)>,
    ) -> Vec<&'static str> {
        let mut waiting = waiting;
        let mut served = Vec::new();
        while !waiting.is_empty() {
            assert_eq!(calls.count(), waiting.len());
            let has_turn =
                |(_, call): &(&str, WaitingCall<'_>)| call.turn().now_or_never().is_some();
            let ready: Vec<usize> =
                (0..waiting.len()).filter(|index| has_turn(&waiting[*index])).collect();
            assert_eq!(ready.len(), 1, "one call has its turn");
            served.push(waiting.remove(ready[0]).0);
        }
        served
    }

    #[test]
    fn clients_take_turns_and_the_calls_of_a_client_keep_their_order() {
        let (one, two, three) =
            (ConnectionId::default(), ConnectionId::default(), ConnectionId::default());
        let calls = WaitingCalls::default();
        let arrived = [
            ("1a", &one),
            ("1b", &one),
            ("1c", &one),
            ("1d", &one),
            ("2a", &two),
            ("3a", &three),
            ("2b", &two),
        ];
        let waiting = arrived.map(|(name, client)| (name, calls.enter(client))).into();
        assert_eq!(serve(&calls, waiting), ["1a", "1b", "2a", "3a", "1c", "2b", "1d"]);
        assert_eq!(calls.count(), 0);
    }

    #[test]
    fn a_canceled_call_passes_its_turn_on_and_leaves_the_queue() {
        let (one, two) = (ConnectionId::default(), ConnectionId::default());
        let calls = WaitingCalls::default();
        let current = calls.enter(&one);
        let (first, second) = (calls.enter(&one), calls.enter(&two));
        let mut turn = Box::pin(second.turn());
        assert!(turn.as_mut().now_or_never().is_none());
        drop(first);
        drop(current);
        assert!(turn.as_mut().now_or_never().is_some());
        drop(turn);
        let late = calls.enter(&one);
        // Its turn comes while nothing polls it.
        drop(second);
        assert_eq!(serve(&calls, vec![("late", late)]), ["late"]);
    }

    proptest! {
        #[test]
        fn each_waiting_call_has_its_turn_before_any_client_has_a_second_one(
            steps in proptest::collection::vec((0..4_usize, any::<bool>(), any::<proptest::sample::Index>()), 1..60)
        ) {
            let clients: Vec<ConnectionId> = (0..4).map(|_| ConnectionId::default()).collect();
            let calls = WaitingCalls::default();
            let mut waiting: Vec<(usize, WaitingCall<'_>)> = Vec::new();
            for (client, arrives, index) in steps {
                if arrives || waiting.is_empty() {
                    waiting.push((client, calls.enter(&clients[client])));
                } else {
                    waiting.remove(index.index(waiting.len()));
                }
            }
            // No call arrives from now on. `overtaken` has the clients that had a turn while the
            // calls of another client waited.
            let mut turns: Vec<usize> = Vec::new();
            while !waiting.is_empty() {
                let with_turn =
                    waiting.iter().position(|(_, call)| call.turn().now_or_never().is_some());
                let position = with_turn.expect("a call has its turn");
                let client = waiting[position].0;
                let first = waiting.iter().position(|(other, _)| *other == client);
                prop_assert_eq!(first, Some(position), "the order of the calls of a client");
                turns.push(client);
                waiting.remove(position);
                for (other, _) in &waiting {
                    // The first turn was given earlier.
                    let last = turns.iter().rposition(|turn| turn == other).map_or(1, |at| at + 1);
                    let since = turns.get(last..).unwrap_or_default();
                    let mut seen = std::collections::HashSet::new();
                    prop_assert!(since.iter().all(|turn| seen.insert(turn)), "{other}: {turns:?}");
                }
            }
            prop_assert_eq!(calls.count(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_is_that_of_the_first_call_that_still_waits() {
        let (calls, client) = (WaitingCalls::default(), ConnectionId::default());
        assert_eq!(calls.longest_wait(), Duration::ZERO);
        let first = calls.enter(&client);
        tokio::time::advance(Duration::from_secs(2)).await;
        let second = calls.enter(&client);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((calls.count(), calls.longest_wait()), (2, Duration::from_secs(3)));
        drop(first);
        let third = calls.enter(&client);
        assert_eq!((calls.count(), calls.longest_wait()), (2, Duration::from_secs(1)));
        drop((second, third));
        assert_eq!((calls.count(), calls.longest_wait()), (0, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_session_lock_excludes_only_its_own_session_and_is_removed_when_it_is_free() {
        let locks = SessionLocks::default();
        let held = locks.lock("a").await;
        drop(locks.lock("b").await);
        let mut second = Box::pin(locks.lock("a"));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(held);
        drop(second.await);
        drop(locks.lock("c").await);
        assert_eq!(locks.0.lock().len(), 1);
    }
}
