//! The rows of the table of pages: address, method and handler.

use axum::{Router, handler::Handler, routing::MethodRouter};
use bailiwick_app::App;
use bailiwick_web::routing::{self, Answer};

/// A row.
#[derive(Clone)]
pub(crate) struct PageRow {
    pub method: &'static str,
    pub path: &'static str,
    handler: MethodRouter<App>,
}

/// A page.
pub(crate) fn get<H, T>(path: &'static str, handler: H) -> PageRow
where
    H: Handler<T, App, Future = Answer>,
{
    PageRow { method: "GET", path, handler: routing::get(handler) }
}

/// A form that is sent.
pub(crate) fn post<H, T>(path: &'static str, handler: H) -> PageRow
where
    H: Handler<T, App, Future = Answer>,
{
    PageRow { method: "POST", path, handler: routing::post(handler) }
}

/// Serves the rows.
pub(crate) fn router(rows: Vec<PageRow>) -> Router<App> {
    rows.into_iter().fold(Router::new(), |router, row| router.route(row.path, row.handler))
}
