//! The question of a session that a person answers in the dashboard, and its answer.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

/// How long an answer waits for the call that asks for it.
const ANSWER_KEPT: Duration = Duration::from_secs(15 * 60);

/// A question to a person, from an agent or from Troupe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PersonQuestion {
    pub id: Arc<str>,
    pub message: String,
    /// JSON Schema of the answer; `None` for an optional text.
    pub schema: Option<Value>,
}

/// A question that Troupe asks because of `--handoff-on`, without a call of `ask_user`.
pub(super) struct HandoffRequest {
    pub page_id: String,
    /// The text of the question, which names the page.
    pub message: String,
    pub id: Arc<str>,
}

/// A session's question, and its answer with the time at which it arrived.
struct QuestionSlot {
    question: Arc<PersonQuestion>,
    answer: Option<(Map<String, Value>, Instant)>,
}

/// The last question of a session, until its answer is taken.
#[derive(Default)]
pub(super) struct SessionQuestion(watch::Sender<Option<QuestionSlot>>);

impl SessionQuestion {
    pub fn pending(&self) -> Option<Arc<PersonQuestion>> {
        let slot = self.0.borrow();
        slot.as_ref().filter(|slot| slot.answer.is_none()).map(|slot| slot.question.clone())
    }

    /// Returns the question, and whether it is new. It is not new if the last call asked the same
    /// and no call has taken the answer. A new question replaces the last one.
    pub fn ask(&self, message: String, schema: Option<Value>) -> (Arc<PersonQuestion>, bool) {
        let id = uuid::Uuid::new_v4().to_string().into();
        let new = Arc::new(PersonQuestion { id, message, schema });
        let mut asked = new.clone();
        let is_new = self.0.send_if_modified(|slot| {
            if let Some(known) = slot
                && known.question.message == new.message
                && known.question.schema == new.schema
                && known.answer.as_ref().is_none_or(|(_, at)| at.elapsed() < ANSWER_KEPT)
            {
                asked = known.question.clone();
                return false;
            }
            *slot = Some(QuestionSlot { question: new, answer: None });
            true
        });
        (asked, is_new)
    }

    pub fn answer(&self, id: &str, answer: Map<String, Value>) -> bool {
        self.0.send_if_modified(|slot| match slot {
            Some(slot) if *slot.question.id == *id && slot.answer.is_none() => {
                slot.answer = Some((answer, Instant::now()));
                true
            }
            _ => false,
        })
    }

    pub fn withdraw(&self, id: &str) {
        self.0.send_if_modified(|slot| slot.take_if(|slot| *slot.question.id == *id).is_some());
    }

    /// Waits for the answer of the question `id` and takes it. `None` if another question has
    /// replaced it, or another call has taken the answer.
    pub async fn wait_answered(&self, id: &str) -> Option<Map<String, Value>> {
        let mut changes = self.0.subscribe();
        loop {
            let is_answered = match &*changes.borrow_and_update() {
                Some(slot) if *slot.question.id == *id => slot.answer.is_some(),
                _ => return None,
            };
            if is_answered {
                let mut taken = None;
                self.0.send_if_modified(|slot| {
                    taken = slot.take_if(|slot| *slot.question.id == *id);
                    taken.is_some()
                });
                return taken?.answer.map(|(answer, _)| answer);
            }
            changes.changed().await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(text: &str) -> Map<String, Value> {
        Map::from_iter([("answer".to_owned(), json!(text))])
    }

    #[tokio::test(start_paused = true)]
    async fn a_repeated_question_gets_the_answer_to_the_first_one() {
        let slot = SessionQuestion::default();
        let (first, is_new) = slot.ask("Size?".to_owned(), None);
        assert!(is_new);
        assert!(slot.answer(&first.id, answer("L")) && slot.pending().is_none());
        let (again, is_new) = slot.ask("Size?".to_owned(), None);
        assert!(!is_new);
        assert_eq!(slot.wait_answered(&again.id).await, Some(answer("L")));
        assert!(slot.ask("Size?".to_owned(), None).1, "the answer has been taken");
    }

    #[tokio::test(start_paused = true)]
    async fn an_old_answer_is_not_used() {
        let slot = SessionQuestion::default();
        let (first, _) = slot.ask("Log in.".to_owned(), None);
        slot.answer(&first.id, Map::new());
        tokio::time::advance(ANSWER_KEPT).await;
        assert!(slot.ask("Log in.".to_owned(), None).1);
    }

    #[tokio::test]
    async fn a_question_that_is_replaced_has_no_answer() {
        let slot = SessionQuestion::default();
        let (first, _) = slot.ask("One?".to_owned(), None);
        let (second, _) = slot.ask("Two?".to_owned(), None);
        assert_eq!(slot.wait_answered(&first.id).await, None);
        assert!(!slot.answer(&first.id, Map::new()));
        slot.withdraw(&first.id);
        assert_eq!(slot.pending(), Some(second));
    }
}
