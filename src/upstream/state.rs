//! Reads and restores state with the tools of a server: URLs of pages, cookies and storage. A table
//! has the tools of each supported family of servers. For other servers nothing is saved, and
//! `session_resume` reports that.

use std::{path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    client::{Client, RequestFailure, ToolResult},
    content::PageUrls,
};
use crate::offload;

/// The timeout of a call that Troupe makes itself.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The temporary file that transfers a storage state between Troupe and a server.
const STATE_FILE: &str = "troupe-storage-state.json";

/// The state of a session that can be restored in another server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpstreamState {
    /// The URLs of its pages, in order.
    pub urls: Vec<String>,
    /// The index of the current page.
    pub current: usize,
    /// In the format of Playwright's `storageState`.
    pub storage: Option<Value>,
}

impl UpstreamState {
    pub(super) fn update(&mut self, changes: Vec<PageUrls>) {
        for change in changes {
            match change {
                PageUrls::All { urls, current } => (self.urls, self.current) = (urls, current),
                PageUrls::Current(url) => match self.urls.get_mut(self.current) {
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

/// The restored and the missing parts of a state, as descriptions for the client.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayReport {
    pub done: Vec<String>,
    pub missing: Vec<String>,
}

type ToolCall = (&'static str, Value);

/// The tools of a family of servers.
pub(super) struct ServerFamily {
    /// Closes the browser.
    pub close: Option<&'static str>,
    first_page: fn(&str) -> ToolCall,
    further_page: fn(&str) -> ToolCall,
    select: Option<fn(usize) -> ToolCall>,
    /// Tools that take a `filename`.
    read_storage: Option<&'static str>,
    write_storage: Option<&'static str>,
    /// How a server gets the storage tools that it does not have.
    storage_advice: &'static str,
}

static FAMILIES: [ServerFamily; 2] = [
    // @playwright/mcp
    ServerFamily {
        close: Some("browser_close"),
        first_page: |url| ("browser_navigate", json!({"url": url})),
        further_page: |url| ("browser_tabs", json!({"action": "new", "url": url})),
        select: Some(|index| ("browser_tabs", json!({"action": "select", "index": index}))),
        read_storage: Some("browser_storage_state"),
        write_storage: Some("browser_set_storage_state"),
        storage_advice: "start it with --caps=storage",
    },
    // chrome-devtools-mcp
    ServerFamily {
        close: None,
        first_page: |url| ("new_page", json!({"url": url})),
        further_page: |url| ("new_page", json!({"url": url})),
        select: None,
        read_storage: None,
        write_storage: None,
        storage_advice: "the server has no tools for that",
    },
];

impl ServerFamily {
    /// Returns the family of a server that has these tools.
    pub fn of(tools: &[impl AsRef<str>]) -> Option<&'static Self> {
        FAMILIES.iter().find(|family| lists(tools, (family.first_page)("").0))
    }
}

fn lists(tools: &[impl AsRef<str>], name: &str) -> bool {
    tools.iter().any(|tool| tool.as_ref() == name)
}

/// A server and its tools.
pub(super) struct ServerTools<'a, T> {
    pub client: &'a Client,
    pub tools: &'a [T],
    /// A folder where the server can write files.
    pub folder: &'a Path,
}

impl<T: AsRef<str>> ServerTools<'_, T> {
    async fn call(&self, (tool, arguments): ToolCall) -> Result<(), String> {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        match self.client.call_tool(tool, arguments, CALL_TIMEOUT, None).await {
            Ok(ToolResult { value, .. }) if value["isError"] == true => {
                let text = value["content"][0]["text"].as_str().unwrap_or_default();
                let line =
                    text.lines().find(|line| !line.starts_with('#') && !line.trim().is_empty());
                Err(line.unwrap_or("it failed").chars().take(300).collect())
            }
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    /// Reads the cookies and storage. Returns `None` if the server does not support that.
    pub async fn read_storage(&self) -> Option<Value> {
        let family = ServerFamily::of(self.tools)?;
        let tool = family.read_storage.filter(|tool| lists(self.tools, tool))?;
        let file = self.folder.join(STATE_FILE);
        let result = self.call((tool, json!({"filename": file}))).await;
        let text = tokio::fs::read(&file).await;
        // The file contains the log-ins of the session.
        let _ = tokio::fs::remove_file(&file).await;
        if let Err(error) = result {
            tracing::debug!(error, "the storage state could not be read");
            return None;
        }
        let text = text.ok()?;
        offload::in_place(text.len(), || serde_json::from_slice(&text).ok())
    }

    /// Restores the saved state. Restores the storage first, so that pages can read it.
    pub async fn replay(&self, state: &UpstreamState) -> ReplayReport {
        let mut replayed = ReplayReport::default();
        if state.is_empty() {
            return replayed;
        }
        let Some(family) = ServerFamily::of(self.tools) else {
            replayed.missing.push(
                "everything: the upstream server has no known tools for navigation".to_owned(),
            );
            return replayed;
        };
        match (&state.storage, family.write_storage.filter(|tool| lists(self.tools, tool))) {
            (Some(storage), Some(tool)) => match self.write_storage(tool, storage).await {
                Ok(()) => replayed.done.push("cookies and localStorage".to_owned()),
                Err(error) => replayed.missing.push(format!("cookies and localStorage ({error})")),
            },
            _ => replayed.missing.push(format!(
                "cookies and storage (they were not saved: {})",
                family.storage_advice
            )),
        }
        let mut opened = 0;
        for url in &state.urls {
            let open = if opened == 0 { family.first_page } else { family.further_page };
            match self.call(open(url)).await {
                Ok(()) => {
                    opened += 1;
                    replayed.done.push(format!("the page {url}"));
                }
                Err(error) => replayed.missing.push(format!("the page {url} ({error})")),
            }
        }
        if let Some(select) =
            family.select.filter(|_| state.urls.len() > 1 && opened == state.urls.len())
            && let Err(error) = self.call(select(state.current)).await
        {
            replayed.missing.push(format!("which page was current ({error})"));
        }
        replayed
            .missing
            .push("sessionStorage, form data, scroll positions, refs of elements".to_owned());
        replayed
    }

    async fn write_storage(&self, tool: &'static str, storage: &Value) -> Result<(), String> {
        let file = self.folder.join(STATE_FILE);
        tokio::fs::write(&file, storage.to_string()).await.map_err(|error| error.to_string())?;
        let written = self.call((tool, json!({"filename": file}))).await;
        let _ = tokio::fs::remove_file(&file).await;
        written
    }

    /// Closes the browser, if the server has a tool for that.
    pub async fn close_browser(&self) -> Result<(), RequestFailure> {
        let close = ServerFamily::of(self.tools).and_then(|family| family.close);
        if let Some(tool) = close.filter(|tool| lists(self.tools, tool)) {
            self.client.call_tool(tool, Map::new(), CALL_TIMEOUT, None).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_urls_of_pages_are_kept() {
        let mut kept = UpstreamState::default();
        kept.update(vec![PageUrls::Current("a".into()), PageUrls::Current("b".into())]);
        assert_eq!(kept.urls, ["b"]);
        let urls = vec!["b".to_owned(), "c".to_owned()];
        kept.update(vec![PageUrls::All { urls, current: 1 }, PageUrls::Current("d".into())]);
        assert_eq!((kept.urls.clone(), kept.current), (vec!["b".to_owned(), "d".to_owned()], 1));
        kept.update(vec![PageUrls::All { urls: Vec::new(), current: 0 }]);
        assert!(kept.is_empty());
    }

    #[test]
    fn families_are_recognized_by_their_tools() {
        let close = |tools: &[&str]| ServerFamily::of(tools).map(|family| family.close);
        assert_eq!(close(&["browser_navigate", "browser_close"]), Some(Some("browser_close")));
        assert_eq!(close(&["new_page"]), Some(None));
        assert_eq!(close(&["echo"]), None);
    }
}
