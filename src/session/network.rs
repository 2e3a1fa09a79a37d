//! The network rules of a session, which apply to all of its pages, and its cookies.

use std::sync::Arc;

use url::Url;

use super::session::{Session, engine_error};
use crate::{
    engine::{
        Context,
        network::{Cookie, NetworkRules},
    },
    error::{ErrorCode, Result, TroupeError},
};

impl Session {
    pub(super) fn open_context(&self) -> Result<Arc<dyn Context>> {
        let context = self.context.lock().clone();
        context.ok_or_else(|| {
            TroupeError::new(ErrorCode::InternalError, "the session has no context yet")
        })
    }

    /// The rules that hold now.
    pub async fn network_rules(&self) -> NetworkRules {
        self.network.lock().await.clone()
    }

    /// Lets `change` change the rules, and makes them hold in every page, frame and worker.
    pub async fn change_network(
        &self,
        change: impl FnOnce(&mut NetworkRules),
    ) -> Result<NetworkRules> {
        let mut current = self.network.lock().await;
        let mut rules = current.clone();
        change(&mut rules);
        if rules != *current {
            self.open_context()?.set_network(rules.clone()).await.map_err(engine_error)?;
            *current = rules.clone();
        }
        Ok(rules)
    }

    /// Makes the rules hold in a context that is new.
    pub(super) async fn renew_network(&self) -> Result<()> {
        let rules = self.network.lock().await;
        if *rules == NetworkRules::default() {
            return Ok(());
        }
        self.open_context()?.set_network(rules.clone()).await.map_err(engine_error)
    }

    /// The cookies that a request to one of `urls` would have; all cookies without `urls`.
    pub async fn cookies(&self, urls: &[Url]) -> Result<Vec<Cookie>> {
        let mut cookies = self.open_context()?.cookies().await.map_err(engine_error)?;
        cookies.retain(|cookie| urls.is_empty() || urls.iter().any(|url| cookie.is_sent_to(url)));
        Ok(cookies)
    }

    pub async fn set_cookies(&self, cookies: &[Cookie]) -> Result<()> {
        self.open_context()?.set_cookies(cookies).await.map_err(engine_error)
    }

    pub(super) async fn clear_cookies(&self) -> Result<()> {
        // One that is over is deleted.
        let over = |cookie| Cookie { expires: 1.0, ..cookie };
        let cookies: Vec<Cookie> = self.cookies(&[]).await?.into_iter().map(over).collect();
        if cookies.is_empty() { Ok(()) } else { self.set_cookies(&cookies).await }
    }
}
