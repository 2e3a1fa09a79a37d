//! The test ids of the elements that calls acted on, for the record.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::page::Page;

/// Maximum number of elements. One call acts on fewer.
const MOST: usize = 1024;

/// Test ids by ref, as `TestId` of `injected/api.ts` describes them.
#[derive(Debug, Default)]
pub(in crate::page) struct TestIds(Mutex<HashMap<String, Value>>);

impl TestIds {
    /// Records the test ID in the answer of a call into the page.
    pub fn hear(&self, answer: &Value) {
        let Some(reference) = answer["ref"].as_str() else { return };
        let mut known = self.0.lock();
        match answer.get("testId") {
            Some(test_id) => {
                if known.len() >= MOST {
                    known.clear();
                }
                known.insert(reference.to_owned(), test_id.clone());
            }
            // The element no longer has one.
            None => drop(known.remove(reference)),
        }
    }
}

impl Page {
    /// Returns the test IDs of the elements whose refs are in the parameters of a call.
    pub fn test_ids_in(&self, params: &Value) -> Map<String, Value> {
        let mut found = Map::new();
        collect(params, &self.test_ids.0.lock(), &mut found);
        found
    }
}

fn collect(value: &Value, known: &HashMap<String, Value>, found: &mut Map<String, Value>) {
    match value {
        Value::String(text) => {
            if let Some((reference, test_id)) = known.get_key_value(text.trim()) {
                found.insert(reference.clone(), test_id.clone());
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, known, found)),
        Value::Object(map) => map.values().for_each(|value| collect(value, known, found)),
        _ => {}
    }
}
