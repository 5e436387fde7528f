//! Routes to handlers, with one type for all handlers.
//!
//! Axum wraps each handler in layers that are generic over its type. At each layer the compiler proves again that the
//! future of the handler is `Send`. With one type for all handlers it does so once. Make routes with the functions
//! here, not with those of [`axum::routing`].

use axum::{
    extract::Request,
    handler::Handler,
    response::Response,
    routing::{MethodFilter, MethodRouter, on},
};
use bailiwick_app::App;
use std::{pin::Pin, sync::Arc};

/// The future of a handler.
pub type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler behind a pointer.
#[derive(Clone)]
struct Erased(Arc<dyn Fn(Request, App) -> Answer + Send + Sync>);

impl Handler<Erased, App> for Erased {
    type Future = Answer;

    fn call(self, request: Request, app: App) -> Answer {
        (self.0)(request, app)
    }
}

/// A route to a function for one method. Several methods of a path are put together with [`MethodRouter::merge`].
pub fn route<H, T>(method: MethodFilter, handler: H) -> MethodRouter<App>
where
    H: Handler<T, App, Future = Answer>,
{
    on(method, Erased(Arc::new(move |request, app| handler.clone().call(request, app))))
}

/// GET, and HEAD without its body.
pub fn get<H: Handler<T, App, Future = Answer>, T>(handler: H) -> MethodRouter<App> {
    route(MethodFilter::GET, handler)
}

pub fn post<H: Handler<T, App, Future = Answer>, T>(handler: H) -> MethodRouter<App> {
    route(MethodFilter::POST, handler)
}

pub fn put<H: Handler<T, App, Future = Answer>, T>(handler: H) -> MethodRouter<App> {
    route(MethodFilter::PUT, handler)
}

pub fn patch<H: Handler<T, App, Future = Answer>, T>(handler: H) -> MethodRouter<App> {
    route(MethodFilter::PATCH, handler)
}
