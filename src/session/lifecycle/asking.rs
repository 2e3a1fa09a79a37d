//! The calls that ask a person in the dashboard, and wait for the answer.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    question::{HandoffRequest, PersonQuestion},
    session::Session,
};
use crate::error::Result;

/// A question that a call has asked. If it is dropped, the dashboard no longer shows the question.
pub struct AskedQuestion {
    session: Arc<Session>,
    question: Arc<PersonQuestion>,
    /// Whether this is the first call that asks it.
    pub is_new: bool,
    stays: bool,
}

impl Session {
    /// Shows a question in the dashboard. If an earlier call has asked the same, its question
    /// stays, with its answer.
    pub fn ask_person(self: &Arc<Self>, message: String, schema: Option<Value>) -> AskedQuestion {
        let (question, is_new) = self.question.ask(message, schema);
        AskedQuestion { session: self.clone(), question, is_new, stays: false }
    }

    /// Asks a person the question `message` about the page `page_id`. `None` withdraws the question
    /// about this page. While an agent's question is pending, asks none. Returns whether this is a
    /// new question.
    pub fn request_person(&self, page_id: &str, message: Option<&str>) -> bool {
        let mut last = self.handoff.lock();
        let is_of_page = last.as_ref().is_some_and(|last| last.page_id == page_id);
        let is_same = is_of_page && last.as_ref().map(|last| &*last.message) == message;
        if is_same || !is_of_page && message.is_none() {
            return false;
        }
        if let Some(last) = last.take() {
            self.question.withdraw(&last.id);
        }
        let Some(message) = message.filter(|_| self.pending_question().is_none()) else {
            return false;
        };
        let (question, is_new) = self.question.ask(message.to_owned(), None);
        *last = Some(HandoffRequest {
            page_id: page_id.to_owned(),
            message: message.to_owned(),
            id: question.id.clone(),
        });
        is_new
    }

    /// Returns the question that waits for an answer.
    pub fn pending_question(&self) -> Option<Arc<PersonQuestion>> {
        self.question.pending()
    }

    /// Answers the question `id`. Returns false if it does not wait for an answer.
    pub fn answer_question(&self, id: &str, answer: Map<String, Value>) -> bool {
        self.question.answer(id, answer)
    }
}

impl AskedQuestion {
    pub fn id(&self) -> &str {
        &self.question.id
    }

    /// Keeps the question in the dashboard: a later call takes the answer.
    pub fn keep(&mut self) {
        self.stays = true;
    }

    /// Waits for the answer of a person and takes it. `None` if another question has replaced this
    /// one, or another call has taken the answer.
    pub async fn wait_answer(&self) -> Result<Option<Map<String, Value>>> {
        tokio::select! {
            answer = self.session.question.wait_answered(&self.question.id) => Ok(answer),
            () = self.session.ended.cancelled() => Err(self.session.ended_during_call_error()),
        }
    }
}

impl Drop for AskedQuestion {
    fn drop(&mut self) {
        if !self.stays {
            self.session.question.withdraw(&self.question.id);
        }
    }
}
