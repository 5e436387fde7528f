//! The metrics series of a request (docs/observability.md): always a row of the route table or of the provider, never a
//! text that a client has sent.

use crate::routes::{self, Route};
use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use bailiwick_platform::http_metrics::{RouteName, WorkerMetrics};
use http::Method;
use std::{collections::HashMap, sync::Arc};

/// The series of requests that match no route.
const OTHER: usize = 0;
/// Files of the web interface.
const WEB: usize = 1;

/// Paths of the provider, each with the methods it has.
const PROVIDER: &[(&str, &[&str])] = &[
    ("/api/interaction", &["PUT"]),
    ("/api/interaction/identifiers", &["PATCH"]),
    ("/api/interaction/second-factor", &["POST"]),
    ("/api/interaction/submit", &["POST"]),
    ("/api/interaction/consent", &["POST"]),
    ("/oidc", &["GET"]),
    ("/oidc/login", &["GET", "POST"]),
    ("/oidc/.well-known/openid-configuration", &["GET"]),
    ("/oidc/jwks", &["GET"]),
    ("/oidc/form-post.js", &["GET"]),
    ("/oidc/passkey.js", &["GET"]),
    ("/oidc/auth", &["GET", "POST"]),
    ("/oidc/auth/{id}", &["GET"]),
    ("/oidc/sign-in/{id}", &["GET", "POST"]),
    ("/oidc/consent", &["POST"]),
    ("/oidc/consent/{id}", &["GET", "POST"]),
    ("/oidc/forgotten-password", &["GET", "POST"]),
    ("/oidc/new-password/{token}", &["GET", "POST"]),
    ("/oidc/confirm-address/{token}", &["GET", "POST"]),
    ("/oidc/token", &["POST"]),
    ("/oidc/token/revocation", &["POST"]),
    ("/oidc/token/introspection", &["POST"]),
    ("/oidc/me", &["GET", "POST"]),
    ("/oidc/session/end", &["GET", "POST"]),
    ("/oidc/backchannel-logout", &["POST"]),
];

/// Every series there can be; `pages`: those of the pages for people.
pub(crate) fn names(pages: &[(&str, &str)]) -> Arc<[RouteName]> {
    let name = |method: &str, route: &str| RouteName { method: method.into(), route: route.into() };
    let table = routes::table();
    let rows = table.iter().map(|row| name(row.method.as_str(), &row.path));
    let provider = PROVIDER.iter().flat_map(|(path, methods)| methods.iter().map(|m| name(m, path)));
    let pages = pages.iter().map(|(method, path)| name(method, path));
    [name("any", "other"), name("GET", "web")].into_iter().chain(rows).chain(provider).chain(pages).collect()
}

/// Reports the route of an answer to the outermost layer.
#[derive(Clone, Debug)]
pub(crate) enum Matched {
    /// A row of the table.
    Row(usize),
    /// A file of the web interface.
    Web,
    /// A path of the provider or of the console.
    Provider(Method, MatchedPath),
}

/// Marks the answers of the provider and of the console.
pub(crate) async fn mark(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    if let Some(path) = &path {
        // Of the request that all its log lines are in.
        tracing::Span::current().record("route", path.as_str());
    }
    let method = request.method().clone();
    let mut response = next.run(request).await;
    if let Some(path) = path {
        response.extensions_mut().insert(Matched::Provider(method, path));
    }
    response
}

/// The series of an answer.
pub(crate) fn place(worker: &WorkerMetrics, response: &mut Response) -> usize {
    let found = match response.extensions_mut().remove::<Matched>() {
        Some(Matched::Row(place)) => Some(place),
        Some(Matched::Web) => Some(WEB),
        Some(Matched::Provider(method, path)) => {
            let method = if method == Method::HEAD { "GET" } else { method.as_str() };
            worker.index_of(method, path.as_str())
        }
        None => None,
    };
    found.unwrap_or(OTHER)
}

/// The route of a series; none for requests that match no route.
pub(crate) fn route(worker: &WorkerMetrics, place: usize) -> Option<&str> {
    worker.name(place).filter(|_| place != OTHER).map(|name| name.route.as_str())
}

/// The series of operations by their ids.
#[derive(Debug)]
pub(crate) struct RouteSeries(HashMap<String, usize>);

impl RouteSeries {
    /// Of these rows.
    pub(crate) fn of<'r>(rows: impl Iterator<Item = &'r Route>, worker: &WorkerMetrics) -> RouteSeries {
        let place = |row: &Route| worker.index_of(row.method.as_str(), &row.path).unwrap_or(OTHER);
        RouteSeries(rows.map(|row| (row.operation.clone(), place(row))).collect())
    }

    /// Of one operation.
    pub(crate) fn get(&self, operation: Option<&str>) -> usize {
        operation.and_then(|id| self.0.get(id)).copied().unwrap_or(OTHER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_the_provider_is_named() {
        let source = include_str!("oidc/mod.rs");
        let routes = source.split(".route(").skip(1);
        let mut paths: Vec<&str> = routes.filter_map(|s| s.trim_start().split('"').nth(1)).collect();
        let mut named: Vec<&str> = PROVIDER.iter().map(|(path, _)| *path).collect();
        named.sort_unstable();
        paths.sort_unstable();
        assert_eq!(named, paths);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = names(&[]).iter().map(|n| format!("{} {}", n.method, n.route)).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
