//! Reads a resource. A read does not wait for calls: it returns the current state.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::{LoggedRequest, Page},
    session::{Screenshot, Session},
    tools::{ResourceKind, ResourceUri, screenshot_at, timestamp},
};

/// The elements that are listed if no selector is given.
const ACTIONABLE: &str = "a[href], button, input:not([type=hidden]), select, textarea, summary, \
[contenteditable]:not([contenteditable=false]), [role=button], [role=link], [role=checkbox], [role=tab], \
[role=menuitem], [role=option]";

/// The contents of a resource.
pub(super) enum Content {
    /// JSON text.
    Json(String),
    Picture(Arc<Screenshot>),
}

/// The contents of a resource before secrets are masked.
enum Unmasked {
    Json(Value),
    Picture(Arc<Screenshot>),
}

/// Reads `uri`, which is in `session`.
pub(super) async fn read(session: &Arc<Session>, uri: &ResourceUri) -> Result<Content> {
    // Waits until the session is ready, and stops when the session ends.
    Ok(match session.run(contents(session, uri)).await? {
        Unmasked::Json(mut json) => offload::in_place(offload::json_size(&json), || {
            session.secrets.mask_json(&mut json);
            Content::Json(json.to_string())
        }),
        Unmasked::Picture(taken) => Content::Picture(taken),
    })
}

async fn contents(session: &Session, uri: &ResourceUri) -> Result<Unmasked> {
    let json = match &uri.kind {
        ResourceKind::Session => {
            let metadata = serde_json::to_value(session.info()).unwrap_or_default();
            json!({"uri": uri.to_string(), "name": "session", "mimeType": "application/json", "metadata": metadata})
        }
        ResourceKind::Pages => {
            let mut pages = Vec::new();
            for open in session.open_pages() {
                let uri = ResourceUri::new(&session.id, ResourceKind::Page(open.id.clone()));
                pages.push(page(&uri, &open).await);
            }
            json!({"uri": uri.to_string(), "pages": pages})
        }
        ResourceKind::Page(id) => page(uri, &*open_page(session, id)?).await,
        ResourceKind::Element { page, reference } => {
            element(uri, &*readable_page(session, page)?, reference).await?
        }
        ResourceKind::Elements { page, selector } => {
            elements(session, uri, &*readable_page(session, page)?, selector.as_deref()).await?
        }
        ResourceKind::Screenshots => {
            let taken: Vec<Value> =
                session.screenshots().iter().map(|taken| listed(session, taken)).collect();
            json!({"uri": uri.to_string(), "screenshots": taken})
        }
        ResourceKind::Screenshot { page, at } => {
            return screenshot_at(session, page, at).map(Unmasked::Picture);
        }
        ResourceKind::NetworkLog(id) => network_log(uri, &*open_page(session, id)?)?,
    };
    Ok(Unmasked::Json(json))
}

/// The page `id`; unlike a call, a read opens none.
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

/// As `open_page`, one whose scripts answer.
fn readable_page(session: &Session, id: &str) -> Result<Arc<Page>> {
    let page = open_page(session, id)?;
    page.check_no_dialog()?;
    Ok(page)
}

async fn page(uri: &ResourceUri, page: &Page) -> Value {
    // A page that is held up by a dialog, or is just going, still has an address.
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
                ResourceKind::Element { page: page.id.clone(), reference: found.r#ref.clone() };
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

/// The name of a picture that was taken in `session`.
pub(super) fn screenshot_uri(session: &Session, taken: &Screenshot) -> ResourceUri {
    let kind =
        ResourceKind::Screenshot { page: taken.page_id.clone(), at: timestamp(taken.captured_at) };
    ResourceUri::new(&session.id, kind)
}

/// The fields of a screenshot besides the picture.
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
            let mut told = json!({
                "url": entry.url,
                "method": entry.method,
                // As elsewhere: 0 where there was no answer.
                "status": entry.status.unwrap_or(0),
                "resourceType": entry.kind.as_str(),
                "timing": {"startTime": entry.started.round(), "duration": entry.duration},
            });
            if let Some(failure) = &entry.failure {
                told["failure"] = json!(failure);
            }
            if let Some(frame) = frame {
                told["frame"] = json!(frame);
            }
            told
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
