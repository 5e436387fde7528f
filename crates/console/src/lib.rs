//! The web console: pages below `/console/`, rendered on the server.
//!
//! It is thin: a page calls the use cases that the interface calls, with the same [`Caller`](bailiwick_policy::Caller),
//! and shows what they say. What may be done is asked of `policy`. A request passes [`guard`] (headers, forged forms),
//! then [`session`] (the signed-in person), then a function of [`pages`]. To add a page see `docs/console.md`.

mod assets;
mod chart;
mod components;
mod failure;
mod filters;
mod flash;
mod form;
mod guard;
mod layout;
mod links;
mod page;
mod pages;
mod session;
mod shared_threads;
mod texts;
mod time;
mod unsent;

use axum::{Router, middleware};
use bailiwick_app::App;
use bailiwick_web::routing::{get, post};
use std::sync::LazyLock;
use tokio::runtime::Handle;

/// Method and path of every page, for the counters of requests.
pub static ROUTES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let frame = [
        ("GET", "/"),
        ("GET", "/console"),
        ("GET", "/console/assets/{name}"),
        ("GET", "/console/sign-in"),
        ("GET", "/console/signed-in"),
        ("GET", "/console/signed-out"),
        ("POST", "/console/sign-out"),
        ("POST", "/console/preferences"),
        ("POST", "/console/acting/go-on"),
        ("POST", "/console/acting/back"),
        ("GET", "/console/{*rest}"),
    ];
    [
        &frame,
        pages::organizations::ROUTES,
        pages::imports::ROUTES,
        pages::rebranding::ROUTES,
        pages::users::ROUTES,
        pages::systems::ROUTES,
        pages::alerts::ROUTES,
        pages::notifications::ROUTES,
        pages::applications::ROUTES,
        pages::events::ROUTES,
        pages::search::ROUTES,
        pages::account::ROUTES,
    ]
    .concat()
});

/// The pages; none where the console is switched off. They are made on `threads`.
pub fn router(app: &App, threads: Handle) -> Router<App> {
    if !app.settings.console.enabled {
        return Router::new();
    }
    let signed_in = Router::new()
        .route("/console", get(pages::home::show))
        .route("/console/preferences", post(pages::session::preferences))
        .route("/console/sign-out", post(pages::session::sign_out))
        .route("/console/acting/go-on", post(pages::session::go_on))
        .route("/console/acting/back", post(pages::session::back))
        .merge(pages::organizations::router())
        .merge(pages::imports::router())
        .merge(pages::rebranding::router())
        .merge(pages::users::router())
        .merge(pages::systems::router())
        .merge(pages::alerts::router())
        .merge(pages::notifications::router())
        .merge(pages::applications::router())
        .merge(pages::events::router())
        .route("/console/search", get(pages::search::show))
        .merge(pages::account::router())
        .route("/console/{*rest}", get(pages::missing));
    // A page that answers a form has the address of the form, where people reload it and come back to.
    let only_forms = ROUTES.iter().filter(|(_, path)| !ROUTES.contains(&("GET", *path)));
    let signed_in = only_forms
        .fold(signed_in, |router, (_, path)| router.route(path, get(pages::to_page)))
        .route_layer(middleware::from_fn_with_state(app.clone(), session::enter))
        .route_layer(middleware::from_fn_with_state(threads, shared_threads::serve));
    let open = Router::new()
        .route("/console/assets/{name}", get(assets::show))
        .route("/console/sign-in", get(pages::session::sign_in))
        .route("/console/signed-in", get(pages::session::signed_in))
        .route("/console/signed-out", get(pages::session::signed_out));
    let mut all = signed_in.merge(open);
    // The files of another interface have the root.
    if app.settings.static_dir.is_none() {
        all = all.route("/", get(pages::to_console));
    }
    all.route_layer(middleware::from_fn_with_state(app.clone(), guard::guard))
}
