//! Who asks whom.

use axum::extract::FromRequestParts;
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_platform::RequestContext;
use http::request::Parts;
use std::convert::Infallible;

/// The service with the use case that a handler calls, from the application that the routes share.
#[derive(Clone, Debug)]
pub struct Service<S>(pub S);

impl<S: Clone> FromRequestParts<App> for Service<S>
where
    App: AsRef<S>,
{
    type Rejection = Infallible;
    async fn from_request_parts(_: &mut Parts, app: &App) -> Result<Service<S>, Infallible> {
        Ok(Service(AsRef::<S>::as_ref(app).clone()))
    }
}

/// The client's address as the outer layer found it.
pub fn client_ip(parts: &Parts) -> bailiwick_domain::Result<std::net::IpAddr> {
    parts
        .extensions
        .get::<RequestContext>()
        .map(|c| c.client_ip)
        .ok_or_else(|| Error::internal("the request has no context"))
}
