//! Reads a resource. A read does not wait for calls: it returns the current state.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::{LoggedRequest, Page},
    session::{Screenshot, Session},
    tools::{McpResourceKind, ResourceUri, screenshot_at, timestamp},
};

/// The elements that are listed if no selector is given.
const ACTIONABLE: &str = "a[href], button, input:not([type=hidden]), select, textarea, summary, \
[contenteditable]:not([contenteditable=false]), [role=button], [role=link], [role=checkbox], [role=tab], \
[role=menuitem], [role=option]";

/// The contents of a resource.
pub(super) enum ResourceBody {
    /// JSON text.
    Json(String),
    Picture(Arc<Screenshot>),
}

/// The contents of a resource before secrets are masked.
enum UnmaskedBody {
    Json(Value),
    Picture(Arc<Screenshot>),
}

/// Reads `uri`, which is in `session`.
pub(super) async fn read(session: &Arc<Session>, uri: &ResourceUri) -> Result<ResourceBody> {
    // Waits until the session is ready, and stops when the session ends.
    Ok(match session.run(contents(session, uri)).await? {
        UnmaskedBody::Json(mut json) => offload::in_place(offload::json_size(&json), || {
            session.secrets.mask_json(&mut json);
            ResourceBody::Json(json.to_string())
        }),
        UnmaskedBody::Picture(taken) => ResourceBody::Picture(taken),
    })
}

async fn contents(session: &Session, uri: &ResourceUri) -> Result<UnmaskedBody> {
    let json = match &uri.kind {
        McpResourceKind::Session => {
            let metadata = serde_json::to_value(session.info()).unwrap_or_default();
            json!({"uri": uri.to_string(), "name": "session", "mimeType": "application/json", "metadata": metadata})
        }
        McpResourceKind::Pages => {
            let mut pages = Vec::new();
            for open in session.open_pages() {
                let uri = ResourceUri::new(&session.id, McpResourceKind::Page(open.id.clone()));
                pages.push(page(&uri, &open).await);
            }
            json!({"uri": uri.to_string(), "pages": pages})
        }
        McpResourceKind::Page(id) => page(uri, &*open_page(session, id)?).await,
        McpResourceKind::Element { page, reference } => {
            element(uri, &*readable_page(session, page)?, reference).await?
        }
        McpResourceKind::Elements { page, selector } => {
            elements(session, uri, &*readable_page(session, page)?, selector.as_deref()).await?
        }
        McpResourceKind::Screenshots => {
            let taken: Vec<Value> =
                session.screenshots().iter().map(|taken| listed(session, taken)).collect();
            json!({"uri": uri.to_string(), "screenshots": taken})
        }
        McpResourceKind::Screenshot { page, at } => {
            return screenshot_at(session, page, at).map(UnmaskedBody::Picture);
        }
        McpResourceKind::NetworkLog(id) => network_log(uri, &*open_page(session, id)?)?,
    };
    Ok(UnmaskedBody::Json(json))
}

/// Returns the open page `id`. Unlike a call, a read does not open one.
fn open_page(session: &Session, id: &str) -> Result<Arc<Page>> {
    let pages = session.open_pages();
    pages.iter().find(|page| page.id == id).cloned().ok_or_else(|| {
        let open: Vec<&str> = pages.iter().map(|page| page.id.as_str()).collect();
        TroupeError::new(
            ErrorCode::PageNotFound,
            format!("page `{id}` is not open in this session (open: {})", open.join(", ")),
        )
        .detail("pageId", id)
    })
}

/// Like `open_page`, but fails if a dialog blocks the page.
fn readable_page(session: &Session, id: &str) -> Result<Arc<Page>> {
    let page = open_page(session, id)?;
    page.check_no_dialog()?;
    Ok(page)
}

async fn page(uri: &ResourceUri, page: &Page) -> Value {
    // A page that is blocked by a dialog or is closing still has a URL.
    let viewport = async {
        match page.dialog() {
            Some(_) => None,
            None => page.viewport().await.ok(),
        }
    };
    let (title, viewport) = tokio::join!(page.title(), viewport);
    let title = title.unwrap_or_default();
    let mut metadata = json!({"url": page.url(), "title": title, "createdAt": page.opened_at});
    if let Some((width, height)) = viewport {
        metadata["viewport"] = json!({"width": width, "height": height});
    }
    json!({"uri": uri.to_string(), "name": page.id, "mimeType": "application/json", "metadata": metadata})
}

async fn element(uri: &ResourceUri, page: &Page, reference: &str) -> Result<Value> {
    let found = page.describe(reference).await?;
    let [x, y, width, height] = found.r#box;
    Ok(json!({
        "uri": uri.to_string(),
        "name": found.description,
        "mimeType": "application/json",
        "metadata": {
            "selector": found.path,
            "tagName": found.tag,
            "role": found.role,
            "accessibleName": found.name,
            "text": found.text,
            "attributes": found.attributes,
            "boundingBox": {"x": x, "y": y, "width": width, "height": height},
            "visible": found.visible,
            "enabled": found.enabled,
        },
    }))
}

async fn elements(
    session: &Session,
    uri: &ResourceUri,
    page: &Page,
    selector: Option<&str>,
) -> Result<Value> {
    let found = page.elements(selector.unwrap_or(ACTIONABLE)).await?;
    let elements: Vec<Value> = found
        .elements
        .into_iter()
        .map(|found| {
            let kind =
                McpResourceKind::Element { page: page.id.clone(), reference: found.r#ref.clone() };
            json!({
                "uri": ResourceUri::new(&session.id, kind).to_string(),
                "name": found.description,
                "mimeType": "application/json",
                "metadata": {
                    "selector": found.r#ref,
                    "tagName": found.tag,
                    "text": found.text,
                    "attributes": found.attributes,
                    "visible": found.visible,
                },
            })
        })
        .collect();
    Ok(json!({"uri": uri.to_string(), "elements": elements, "count": found.count}))
}

/// Returns the URI of a screenshot of `session`.
pub(super) fn screenshot_uri(session: &Session, taken: &Screenshot) -> ResourceUri {
    let kind = McpResourceKind::Screenshot {
        page: taken.page_id.clone(),
        at: timestamp(taken.captured_at),
    };
    ResourceUri::new(&session.id, kind)
}

/// Returns the fields of a screenshot besides the picture.
pub(super) fn about(taken: &Screenshot) -> Value {
    json!({
        "width": taken.width,
        "height": taken.height,
        "fullPage": taken.full_page,
        "capturedAt": taken.captured_at,
    })
}

fn listed(session: &Session, taken: &Screenshot) -> Value {
    let uri = screenshot_uri(session, taken).to_string();
    json!({"uri": uri, "mimeType": taken.mime_type, "metadata": about(taken)})
}

fn network_log(uri: &ResourceUri, page: &Page) -> Result<Value> {
    page.check_requests()?;
    let logged = page.requests(None);
    let responses = logged.iter().filter(|(entry, _)| entry.status.is_some()).count();
    let is_error = |entry: &LoggedRequest| {
        entry.failure.is_some() || entry.status.is_some_and(|status| status >= 400)
    };
    let errors = logged.iter().filter(|(entry, _)| is_error(entry)).count();
    let content: Vec<Value> = logged
        .iter()
        .map(|(entry, frame)| {
            let mut entry_json = json!({
                "url": entry.url,
                "method": entry.method,
                // 0 if there was no response.
                "status": entry.status.unwrap_or(0),
                "resourceType": entry.kind.as_str(),
                "timing": {"startTime": entry.started.round(), "duration": entry.duration},
            });
            if let Some(failure) = &entry.failure {
                entry_json["failure"] = json!(failure);
            }
            if let Some(frame) = frame {
                entry_json["frame"] = json!(frame);
            }
            entry_json
        })
        .collect();
    Ok(json!({
        "uri": uri.to_string(),
        "name": format!("requests of {}", page.id),
        "mimeType": "application/json",
        "metadata": {"requestCount": logged.len(), "responseCount": responses, "errorCount": errors},
        "content": content,
    }))
}
