//! Prevents unintended double clicks. The driver turns a press into a double click if it is at the
//! same pixel as the last one and within GTK's double-click time (0.4 s).

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::engine::MouseEvent;

/// GTK's double-click time with a safety margin.
const DOUBLE_CLICK_TIME: Duration = Duration::from_millis(800);

/// The pixel and the time of the last press.
#[derive(Default)]
pub(super) struct PressHistory(Mutex<Option<((i64, i64), Instant)>>);

fn pixel(event: &MouseEvent) -> (i64, i64) {
    let (x, y) = event.position();
    (x.floor() as i64, y.floor() as i64)
}

impl PressHistory {
    fn last(&self) -> MutexGuard<'_, Option<((i64, i64), Instant)>> {
        self.0.lock()
    }

    /// Returns `events`, moved by a pixel if their first press would be combined with the last one.
    pub fn separate(&self, events: &[MouseEvent]) -> Vec<MouseEvent> {
        let mut events = events.to_vec();
        let first = events.iter().find(|event| matches!(event, MouseEvent::Down { .. })).map(pixel);
        let last =
            self.last().filter(|(_, at)| at.elapsed() < DOUBLE_CLICK_TIME).map(|(pixel, _)| pixel);
        if first.is_some() && first == last {
            for event in &mut events {
                let (MouseEvent::Move { x, .. }
                | MouseEvent::Down { x, .. }
                | MouseEvent::Up { x, .. }) = event;
                *x += 1.0;
            }
        }
        events
    }

    /// Records the last press of `events`, which were dispatched.
    pub fn record(&self, events: &[MouseEvent]) {
        if let Some(press) = events.iter().rfind(|event| matches!(event, MouseEvent::Down { .. })) {
            *self.last() = Some((pixel(press), Instant::now()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::MouseButton;

    fn click(x: f64) -> [MouseEvent; 3] {
        let (y, button, clicks, modifiers) = (5.0, MouseButton::Left, 1, 0);
        [
            MouseEvent::Move { x, y, modifiers },
            MouseEvent::Down { x, y, button, clicks, modifiers },
            MouseEvent::Up { x, y, button, clicks, modifiers },
        ]
    }

    #[tokio::test(start_paused = true)]
    async fn two_clicks_that_follow_at_once_are_a_pixel_apart() {
        let press_history = PressHistory::default();
        let mut click_at = |x: f64| {
            let events = press_history.separate(&click(x));
            press_history.record(&events);
            assert!(events.iter().all(|event| pixel(event) == pixel(&events[0])));
            pixel(&events[0]).0
        };
        assert_eq!([10.5, 10.0, 10.9].map(&mut click_at), [10, 11, 10]);
        assert_eq!(click_at(40.0), 40);
        tokio::time::advance(DOUBLE_CLICK_TIME).await;
        assert_eq!(click_at(40.0), 40, "the double-click time is over");
        let moved = press_history.separate(&click(40.0)[..1]);
        assert_eq!(pixel(&moved[0]).0, 40, "a move is not a press");
    }
}
