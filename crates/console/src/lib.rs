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
mod rows;
mod session;
mod shared_threads;
mod texts;
mod time;
mod unsent;

use axum::{Router, middleware};
use bailiwick_app::App;
use bailiwick_web::routing;
use rows::{PageRow, get, post};
use std::sync::LazyLock;
use tokio::runtime::Handle;

/// Method and path of every page, for the counters of requests.
pub static ROUTES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let rows = open_rows().into_iter().chain(signed_in_rows());
    [("GET", "/")].into_iter().chain(rows.map(|row| (row.method, row.path))).collect()
});

/// Pages without a session.
fn open_rows() -> Vec<PageRow> {
    vec![
        get("/console/assets/{name}", assets::show),
        get("/console/sign-in", pages::session::sign_in),
        get("/console/signed-in", pages::session::signed_in),
        get("/console/signed-out", pages::session::signed_out),
    ]
}

/// Pages of the person that has signed in.
fn signed_in_rows() -> Vec<PageRow> {
    let frame = vec![
        get("/console", pages::home::show),
        get("/console/search", pages::search::show),
        post("/console/preferences", pages::session::preferences),
        post("/console/sign-out", pages::session::sign_out),
        post("/console/acting/go-on", pages::session::go_on),
        post("/console/acting/back", pages::session::back),
        get("/console/{*rest}", pages::missing),
    ];
    [
        frame,
        pages::organizations::rows(),
        pages::imports::rows(),
        pages::rebranding::rows(),
        pages::users::rows(),
        pages::systems::rows(),
        pages::alerts::rows(),
        pages::notifications::rows(),
        pages::applications::rows(),
        pages::events::rows(),
        pages::account::rows(),
    ]
    .concat()
}

/// The pages; none where the console is switched off. They are made on `threads`.
pub fn router(app: &App, threads: Handle) -> Router<App> {
    if !app.settings.console.enabled {
        return Router::new();
    }
    // A page that answers a form has the address of the form, where people reload it and come back to.
    let only_forms = ROUTES.iter().filter(|(_, path)| !ROUTES.contains(&("GET", *path)));
    let signed_in = only_forms
        .fold(rows::router(signed_in_rows()), |router, (_, path)| {
            router.route(path, routing::get(pages::to_page))
        })
        .route_layer(middleware::from_fn_with_state(app.clone(), session::enter))
        .route_layer(middleware::from_fn_with_state(threads, shared_threads::serve));
    let mut all = signed_in.merge(rows::router(open_rows()));
    // The files of another interface have the root.
    if app.settings.static_dir.is_none() {
        all = all.route("/", routing::get(pages::to_console));
    }
    all.route_layer(middleware::from_fn_with_state(app.clone(), guard::guard))
}
