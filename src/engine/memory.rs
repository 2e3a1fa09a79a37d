//! An in-memory browser: contexts and pages without a process, for property tests of sessions.
//! Compiled only with the feature `testing`.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Browser, Capabilities, Context, ContextObserver, ContextOptions, EmulatedMedia, Engine,
    EngineError, EnginePage, EngineResult, FileChooser, FrameId, KeyEvent, MouseEvent,
    NavigationStart, PageEvent, PageObserver, ScreenshotOptions, World,
    network::{Cookie, NetworkRules},
};
use crate::config::Viewport;

/// Starts [`MemoryBrowser`]s.
#[derive(Default)]
pub struct MemoryEngine {
    launched: AtomicU64,
}

struct MemoryBrowser {
    version: String,
    gone: CancellationToken,
    pages: Arc<AtomicU64>,
}

struct MemoryContext {
    observer: Arc<dyn ContextObserver>,
    pages: Arc<AtomicU64>,
}

struct MemoryPage {
    id: Arc<str>,
    documents: AtomicU64,
    observer: std::sync::OnceLock<Arc<dyn PageObserver>>,
}

#[async_trait]
impl Engine for MemoryEngine {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let number = self.launched.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Arc::new(MemoryBrowser {
            version: format!("memory/{number}"),
            gone: CancellationToken::new(),
            pages: Arc::default(),
        }))
    }
}

#[async_trait]
impl Browser for MemoryBrowser {
    fn version(&self) -> &str {
        &self.version
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    async fn new_context(
        &self,
        _options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        Ok(Arc::new(MemoryContext { observer, pages: self.pages.clone() }))
    }

    async fn close(&self) {
        self.gone.cancel();
    }
}

#[async_trait]
impl Context for MemoryContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        let number = self.pages.fetch_add(1, Ordering::Relaxed);
        let page = Arc::new(MemoryPage {
            id: format!("memory-{number}").into(),
            documents: AtomicU64::new(0),
            observer: std::sync::OnceLock::new(),
        });
        let observer = self.observer.page_opened(page.clone(), None);
        observer.event(PageEvent::FrameAttached { frame: page.id.clone(), parent: None });
        let _ = page.observer.set(observer);
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { mocks: true, ..Capabilities::default() }
    }

    async fn set_viewport(&self, _size: Viewport) -> EngineResult<()> {
        Ok(())
    }

    async fn set_network(&self, _rules: NetworkRules) -> EngineResult<()> {
        Ok(())
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        Ok(Vec::new())
    }

    async fn set_cookies(&self, _cookies: &[Cookie]) -> EngineResult<()> {
        Ok(())
    }

    async fn close(&self) -> EngineResult<()> {
        Ok(())
    }
}

impl MemoryPage {
    fn emit(&self, event: PageEvent) {
        if let Some(observer) = self.observer.get() {
            observer.event(event);
        }
    }

    fn unsupported<T>() -> EngineResult<T> {
        Err(EngineError::Unsupported {
            what: "access to the content of a page",
            instead: "use a real browser",
        })
    }
}

#[async_trait]
impl EnginePage for MemoryPage {
    fn id(&self) -> &str {
        &self.id
    }

    fn main_frame(&self) -> FrameId {
        self.id.clone()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        let number = self.documents.fetch_add(1, Ordering::Relaxed);
        let document: Arc<str> = format!("{}-{number}", self.id).into();
        let frame = self.id.clone();
        self.emit(PageEvent::DocumentResponse { document: document.clone(), status: 200 });
        self.emit(PageEvent::Committed {
            frame: frame.clone(),
            document: document.clone(),
            url: url.to_owned(),
        });
        self.emit(PageEvent::Loaded { frame, document: document.clone() });
        Ok(NavigationStart::Document(document))
    }

    async fn evaluate(
        &self,
        _frame: &FrameId,
        _world: World,
        _expression: &str,
    ) -> EngineResult<Value> {
        Self::unsupported()
    }

    async fn call_on_element(
        &self,
        _frame: &FrameId,
        _reference: &str,
        _function: &str,
    ) -> EngineResult<Value> {
        Self::unsupported()
    }

    async fn content_frame(
        &self,
        _frame: &FrameId,
        _reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        Self::unsupported()
    }

    async fn title(&self) -> EngineResult<String> {
        Ok(String::new())
    }

    async fn clear_history(&self) -> EngineResult<()> {
        Ok(())
    }

    fn stop_loading(&self) {}

    fn terminate_script(&self) {}

    async fn flush_events(&self) {}

    async fn mouse(&self, _events: &[MouseEvent]) -> EngineResult<()> {
        Ok(())
    }

    async fn wheel(&self, _at: (f64, f64), _by: (f64, f64)) -> EngineResult<()> {
        Ok(())
    }

    async fn keyboard(&self, _events: &[KeyEvent]) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn intercept_drags(&self, _on: bool) -> EngineResult<()> {
        Ok(())
    }

    async fn drag_over(&self, _x: f64, _y: f64, _enters: bool) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn drop_at(&self, _x: f64, _y: f64) -> EngineResult<()> {
        Self::unsupported()
    }

    fn cancel_drag(&self, _x: f64, _y: f64) {}

    async fn set_files(
        &self,
        _frame: &FrameId,
        _reference: &str,
        _files: &[PathBuf],
    ) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn choose_files(&self, _chooser: &FileChooser, _files: &[PathBuf]) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn emulate_media(&self, _media: &EmulatedMedia) -> EngineResult<()> {
        Ok(())
    }

    async fn response_body(
        &self,
        _frame: Option<&FrameId>,
        _request: &str,
    ) -> EngineResult<Option<Vec<u8>>> {
        Ok(None)
    }

    async fn reload(&self, _ignore_cache: bool) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn traverse_history(&self, _entries: i64) -> EngineResult<bool> {
        Self::unsupported()
    }

    async fn screenshot(&self, _shot: ScreenshotOptions) -> EngineResult<String> {
        Self::unsupported()
    }

    async fn pdf(&self) -> EngineResult<String> {
        Self::unsupported()
    }

    async fn handle_dialog(&self, _accept: bool, _prompt_text: Option<&str>) -> EngineResult<()> {
        Self::unsupported()
    }

    async fn close(&self) -> EngineResult<()> {
        self.emit(PageEvent::Closed);
        Ok(())
    }
}
