//! The state that a server's own tools can read and restore: URLs of pages, cookies and storage. There is a row for
//! each supported family of servers. For other servers nothing is saved, and `session_resume` reports that.

use std::{path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    client::{Client, Failure, ToolResult},
    content::Place,
};
use crate::offload;

/// What one call of ours may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The file by which a storage state goes from hand to hand, for as long as that takes.
const STATE_FILE: &str = "troupe-storage-state.json";

/// The known state of a session, which is enough to restore it in another server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// Of its pages, in their order.
    pub urls: Vec<String>,
    /// The place of the current one.
    pub current: usize,
    /// As Playwright writes it.
    pub storage: Option<Value>,
}

impl Kept {
    pub(super) fn take_in(&mut self, places: Vec<Place>) {
        for place in places {
            match place {
                Place::All { urls, current } => (self.urls, self.current) = (urls, current),
                Place::Current(url) => match self.urls.get_mut(self.current) {
                    Some(known) => *known = url,
                    None => (self.urls, self.current) = (vec![url], 0),
                },
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.urls.is_empty() && self.storage.is_none()
    }
}

/// What of it came back, and what did not, in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replayed {
    pub done: Vec<String>,
    pub missing: Vec<String>,
}

type Call = (&'static str, Value);

/// How the servers of a family are asked.
pub(super) struct Dialect {
    /// Ends its browser normally.
    pub close: Option<&'static str>,
    first_page: fn(&str) -> Call,
    further_page: fn(&str) -> Call,
    select: Option<fn(usize) -> Call>,
    /// Take a `filename`.
    read_storage: Option<&'static str>,
    write_storage: Option<&'static str>,
    /// Where a server can have those two tools, and has not: how it gets them.
    storage_advice: &'static str,
}

static DIALECTS: [Dialect; 2] = [
    // @playwright/mcp
    Dialect {
        close: Some("browser_close"),
        first_page: |url| ("browser_navigate", json!({"url": url})),
        further_page: |url| ("browser_tabs", json!({"action": "new", "url": url})),
        select: Some(|index| ("browser_tabs", json!({"action": "select", "index": index}))),
        read_storage: Some("browser_storage_state"),
        write_storage: Some("browser_set_storage_state"),
        storage_advice: "start it with --caps=storage",
    },
    // chrome-devtools-mcp
    Dialect {
        close: None,
        first_page: |url| ("new_page", json!({"url": url})),
        further_page: |url| ("new_page", json!({"url": url})),
        select: None,
        read_storage: None,
        write_storage: None,
        storage_advice: "it has no tools for that",
    },
];

impl Dialect {
    /// That of a server which has these tools.
    pub fn of(tools: &[impl AsRef<str>]) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| lists(tools, (dialect.first_page)("").0))
    }
}

fn lists(tools: &[impl AsRef<str>], name: &str) -> bool {
    tools.iter().any(|tool| tool.as_ref() == name)
}

/// A server and how it is asked.
pub(super) struct Talk<'a, T> {
    pub client: &'a Client,
    pub tools: &'a [T],
    /// Where it may write.
    pub folder: &'a Path,
}

impl<T: AsRef<str>> Talk<'_, T> {
    async fn call(&self, (tool, arguments): Call) -> Result<(), String> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        match self.client.call_tool(tool, arguments, PATIENCE, None).await {
            Ok(ToolResult { value, .. }) if value["isError"] == true => {
                let said = value["content"][0]["text"].as_str().unwrap_or_default();
                let line =
                    said.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
                Err(line.unwrap_or("it failed").chars().take(300).collect())
            }
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Asks for what its pages have stored; `None` where it cannot tell.
    pub async fn read_storage(&self) -> Option<Value> {
        let dialect = Dialect::of(self.tools)?;
        let tool = dialect.read_storage.filter(|tool| lists(self.tools, tool))?;
        let file = self.folder.join(STATE_FILE);
        let asked = self.call((tool, json!({"filename": file}))).await;
        let text = tokio::fs::read(&file).await;
        // Whoever can read it is logged in as the session is.
        let _ = tokio::fs::remove_file(&file).await;
        if let Err(error) = asked {
            tracing::debug!(error, "the storage state is not to be had now");
            return None;
        }
        let text = text.ok()?;
        offload::in_place(text.len(), || serde_json::from_slice(&text).ok())
    }

    /// Restores the saved state: first the storage, so that the pages find it.
    pub async fn replay(&self, kept: &Kept) -> Replayed {
        let mut replayed = Replayed::default();
        if kept.is_empty() {
            return replayed;
        }
        let Some(dialect) = Dialect::of(self.tools) else {
            replayed.missing.push(
                "everything: the upstream server has no tools that are known to lead it anywhere"
                    .to_owned(),
            );
            return replayed;
        };
        match (&kept.storage, dialect.write_storage.filter(|tool| lists(self.tools, tool))) {
            (Some(storage), Some(tool)) => match self.write_storage(tool, storage).await {
                Ok(()) => replayed.done.push("cookies and localStorage".to_owned()),
                Err(error) => replayed.missing.push(format!("cookies and localStorage ({error})")),
            },
            _ => replayed.missing.push(format!(
                "cookies and storage (they were not kept: {})",
                dialect.storage_advice
            )),
        }
        let mut opened = 0;
        for url in &kept.urls {
            let open = if opened == 0 { dialect.first_page } else { dialect.further_page };
            match self.call(open(url)).await {
                Ok(()) => {
                    opened += 1;
                    replayed.done.push(format!("the page {url}"));
                }
                Err(error) => replayed.missing.push(format!("the page {url} ({error})")),
            }
        }
        if let Some(select) =
            dialect.select.filter(|_| kept.urls.len() > 1 && opened == kept.urls.len())
            && let Err(error) = self.call(select(kept.current)).await
        {
            replayed.missing.push(format!("which page was the current one ({error})"));
        }
        replayed.missing.push(
            "sessionStorage, what was typed into forms, scroll positions, refs of elements"
                .to_owned(),
        );
        replayed
    }

    async fn write_storage(&self, tool: &'static str, storage: &Value) -> Result<(), String> {
        let file = self.folder.join(STATE_FILE);
        tokio::fs::write(&file, storage.to_string()).await.map_err(|error| error.to_string())?;
        let written = self.call((tool, json!({"filename": file}))).await;
        let _ = tokio::fs::remove_file(&file).await;
        written
    }

    /// Asks it to end its browser, if it has a tool for that.
    pub async fn close_browser(&self) -> Result<(), Failure> {
        let close = Dialect::of(self.tools).and_then(|dialect| dialect.close);
        if let Some(tool) = close.filter(|tool| lists(self.tools, tool)) {
            self.client.call_tool(tool, Map::new(), PATIENCE, None).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_was_told_of_pages_counts() {
        let mut kept = Kept::default();
        kept.take_in(vec![Place::Current("a".into()), Place::Current("b".into())]);
        assert_eq!(kept.urls, ["b"]);
        let urls = vec!["b".to_owned(), "c".to_owned()];
        kept.take_in(vec![Place::All { urls, current: 1 }, Place::Current("d".into())]);
        assert_eq!((kept.urls.clone(), kept.current), (vec!["b".to_owned(), "d".to_owned()], 1));
        kept.take_in(vec![Place::All { urls: Vec::new(), current: 0 }]);
        assert!(kept.is_empty());
    }

    #[test]
    fn families_are_known_by_their_tools() {
        let close = |tools: &[&str]| Dialect::of(tools).map(|dialect| dialect.close);
        assert_eq!(close(&["browser_navigate", "browser_close"]), Some(Some("browser_close")));
        assert_eq!(close(&["new_page"]), Some(None));
        assert_eq!(close(&["echo"]), None);
    }
}
