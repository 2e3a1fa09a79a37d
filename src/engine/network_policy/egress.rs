//! Opens the proxies of browsers and contexts.

use std::sync::Arc;

use super::{Gateway, NetworkPolicy, RequestInterceptor, policy::DenyAll};
use crate::{
    config::Config,
    engine::{ContextOptions, EngineResult},
};

/// The network access of a context: a proxy, and the policy that it applies.
#[derive(Clone)]
pub(in crate::engine) struct Egress {
    pub gateway: Arc<Gateway>,
    pub policy: Arc<dyn NetworkPolicy>,
}

impl Egress {
    /// Opens the proxy that a browser is launched with, if the configuration restricts connections.
    /// The proxy denies all connections until a context uses it.
    pub async fn of_browser(config: &Config) -> EngineResult<Option<Arc<Gateway>>> {
        match config.routes_pages_through_proxy() {
            true => Gateway::open(DenyAll::policy(), &config.context).await.map(Some),
            false => Ok(None),
        }
    }

    /// Opens the proxy of a new context in a browser that was launched with `browser_gateway`. The
    /// default context (`is_default`) uses the browser's own proxy.
    pub async fn of_context(
        options: &ContextOptions,
        browser_gateway: Option<&Arc<Gateway>>,
        is_default: bool,
    ) -> EngineResult<Option<Self>> {
        let (Some(policy), Some(browser_gateway)) =
            (options.network_policy.clone(), browser_gateway)
        else {
            return Ok(None);
        };
        let gateway = if is_default {
            browser_gateway.set_policy(policy.clone());
            browser_gateway.clone()
        } else {
            Gateway::open(policy.clone(), &options.config).await?
        };
        Ok(Some(Self { gateway, policy }))
    }

    /// Adds an object that intercepts requests when the policy needs it.
    pub fn add_interceptor(&self, interceptor: &Arc<impl RequestInterceptor + 'static>) {
        let interceptor = Arc::downgrade(interceptor);
        self.gateway.add_interceptor(interceptor);
    }

    /// Lets the policy check each request of the context from now on.
    pub async fn check_each_request(&self) {
        self.gateway.intercept_requests().await;
    }
}
