//! `/docs`: the reference of the interface, the OpenAPI document, and the documents of the repository at `/docs/guide`.
//! All of it is part of the program, and no page loads anything from other hosts.

mod answer;
mod document;

use crate::{envelope::Gzip, error, impersonation::Asked, openapi};
use axum::{
    Extension, Router,
    extract::{FromRequestParts, RawQuery},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_guide::{About, At, Guide, Page, SignIn};
use bailiwick_identity::oidc::clients;
use bailiwick_settings::Settings;
use bailiwick_web::{PathText, THEME, THEMES, cookie, routing::get};
use document::Document;
use http::{HeaderMap, StatusCode, header, request::Parts};
use std::sync::{Arc, OnceLock};

/// The path below a base path.
const PATH: &str = "/docs";

/// What the pages of all base paths have in common, made at the first use.
#[derive(Debug)]
pub(crate) struct Docs {
    bases: Vec<String>,
    about: About,
    is_https: bool,
    policy: String,
    document: Document,
    guide: OnceLock<Guide>,
}

impl Docs {
    pub(crate) fn new(app: &App) -> Arc<Docs> {
        let settings = &app.settings;
        let sign_in = sign_in(settings);
        let policy = answer::policy(sign_in.as_ref());
        Arc::new(Docs {
            bases: settings.base_paths.clone(),
            about: About { has_console: settings.console.enabled, sign_in },
            is_https: settings.public_url.starts_with("https://"),
            policy,
            document: Document::default(),
            guide: OnceLock::new(),
        })
    }

    fn guide(&self) -> &Guide {
        self.guide
            .get_or_init(|| Guide::new(openapi::document_at(&self.bases), bailiwick_web::STYLE, &self.about))
    }
}

/// Where people sign in; none at an issuer without a client of ours.
fn sign_in(settings: &Settings) -> Option<SignIn> {
    match settings.identity.issuer() {
        None => {
            Some(SignIn { issuer: settings.provider_issuer(), client_id: clients::DEFAULT_ID.to_owned() })
        }
        Some(issuer) => {
            let client_id = issuer.client_ids.first()?.clone();
            Some(SignIn { issuer: issuer.url.clone(), client_id })
        }
    }
}

/// The pages, their files and the document, below one base path.
pub(crate) fn router(docs: Arc<Docs>) -> Router<App> {
    let below = Router::new()
        .route("/openapi.json", get(document_of_programs))
        .route("/assets/{name}", get(asset))
        .route("/operations/{id}", get(operation))
        .route("/signed-in", get(async |visit: Visit| visit.show(visit.docs.guide().signed_in(&visit.at()))))
        .route("/guide", get(async |visit: Visit| visit.document("")))
        .route("/guide/search", get(search))
        .route("/guide/pictures/{name}", get(picture))
        .route("/guide/{*address}", get(document));
    Router::new().route(PATH, get(operations)).nest(PATH, below).layer(Extension(docs))
}

/// A request for a page.
struct Visit {
    docs: Arc<Docs>,
    root: String,
    base: String,
    theme: &'static str,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = Response;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Visit, Response> {
        let docs = parts.extensions.get::<Arc<Docs>>().cloned();
        let asked = parts.extensions.get::<Asked>();
        let (docs, Asked(uri)) = docs.zip(asked).ok_or_else(error::no_route)?;
        // The address in the page is one of ours, not what was sent.
        let is_below = |base: &&String| {
            let rest = uri.path().strip_prefix(base.as_str()).and_then(|rest| rest.strip_prefix(PATH));
            !base.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let asked = docs.bases.iter().find(is_below).cloned();
        let first = docs.bases.iter().find(|base| base.is_empty()).or(docs.bases.first());
        let base = asked.as_ref().or(first).cloned().unwrap_or_default();
        let root = format!("{}{PATH}", asked.unwrap_or_default());
        let theme = cookie(&parts.headers, THEME, docs.is_https).unwrap_or_default();
        let theme = THEMES.into_iter().find(|known| *known == theme).unwrap_or_default();
        Ok(Visit { docs, root, base, theme, headers: parts.headers.clone() })
    }
}

impl Visit {
    fn at(&self) -> At<'_> {
        At { root: &self.root, base: &self.base, theme: self.theme }
    }

    fn show(&self, page: Page) -> Response {
        answer::page(page, &self.docs.policy, &self.headers)
    }

    fn document(&self, address: &str) -> Response {
        match self.docs.guide().page(address, &self.at()) {
            Some(page) => self.show(page),
            None => self.missing(),
        }
    }

    fn missing(&self) -> Response {
        let mut response = self.show(self.docs.guide().missing(&self.at()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        response.headers_mut().remove(header::ETAG);
        response
    }
}

/// What is searched for.
fn query(query: Option<String>) -> String {
    let query = query.unwrap_or_default();
    let found = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "q");
    found.map(|(_, text)| text.into_owned()).unwrap_or_default()
}

async fn document(PathText(address): PathText, visit: Visit) -> Response {
    // An address that is no text is empty, which would be that of the first page.
    if address.is_empty() { visit.missing() } else { visit.document(&address) }
}

async fn operations(visit: Visit, RawQuery(asked): RawQuery) -> Response {
    visit.show(visit.docs.guide().operations(&query(asked), &visit.at()))
}

async fn search(visit: Visit, RawQuery(asked): RawQuery) -> Response {
    visit.show(visit.docs.guide().search(&query(asked), &visit.at()))
}

async fn operation(PathText(id): PathText, visit: Visit) -> Response {
    match visit.docs.guide().operation(&id, &visit.at()) {
        Some(page) => visit.show(page),
        None => visit.missing(),
    }
}

async fn document_of_programs(visit: Visit, gzip: Gzip) -> Response {
    visit.docs.document.answer(&visit.docs.bases, &visit.docs.policy, gzip)
}

async fn asset(PathText(name): PathText, visit: Visit) -> Response {
    match visit.docs.guide().asset(&name) {
        Some(asset) => answer::file(asset.text.clone().into(), asset.media_type, &visit.docs.policy),
        None => error::no_route(),
    }
}

async fn picture(PathText(name): PathText, visit: Visit) -> Response {
    match visit.docs.guide().picture(&name) {
        Some(picture) => answer::picture(picture, &visit.docs.policy, &visit.headers),
        None => visit.missing(),
    }
}
