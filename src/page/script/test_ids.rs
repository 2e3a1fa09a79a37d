//! The test ids and locators of the elements that calls acted on, for the record.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::page::Page;

/// Maximum number of elements. One call acts on fewer.
const MAX_ELEMENTS: usize = 1024;

/// Test ids by ref, as `TestId` of `injected/api.ts` describes them, or locators by ref of the
/// Playwright set.
#[derive(Debug, Default)]
pub(in crate::page) struct IdentifiersByRef(Mutex<HashMap<String, Value>>);

impl IdentifiersByRef {
    /// Records the test ID in the answer of a call into the page.
    pub fn record(&self, answer: &Value) {
        let Some(reference) = answer["ref"].as_str() else { return };
        match answer.get("testId") {
            Some(test_id) => self.insert(reference, test_id.clone()),
            // The element no longer has one.
            None => drop(self.0.lock().remove(reference)),
        }
    }

    fn insert(&self, reference: &str, fact: Value) {
        let mut facts = self.0.lock();
        if facts.len() >= MAX_ELEMENTS {
            facts.clear();
        }
        facts.insert(reference.to_owned(), fact);
    }
}

impl Page {
    /// Records the Playwright locator of the element that `reference` of the Playwright set names.
    pub(in crate::page) fn record_locator(&self, reference: &str, locator: &str) {
        self.locators.insert(reference, json!({"locator": locator}));
    }

    /// Returns the test IDs of the elements whose refs are in the parameters of a call, or their
    /// locators if the refs are those of the Playwright set.
    pub fn test_ids_in(&self, params: &Value, is_playwright: bool) -> Map<String, Value> {
        let facts = if is_playwright { &self.locators } else { &self.test_ids };
        let mut found = Map::new();
        collect(params, &facts.0.lock(), &mut found);
        found
    }
}

fn collect(value: &Value, facts: &HashMap<String, Value>, found: &mut Map<String, Value>) {
    match value {
        Value::String(text) => {
            if let Some((reference, test_id)) = facts.get_key_value(text.trim()) {
                found.insert(reference.clone(), test_id.clone());
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, facts, found)),
        Value::Object(map) => map.values().for_each(|value| collect(value, facts, found)),
        _ => {}
    }
}
