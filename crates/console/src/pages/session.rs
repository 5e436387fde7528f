//! Signing in and out, the theme and the language, and the way into and out of an impersonation.

use crate::{
    failure::{self, Outcome},
    form::Form,
    layout::{LANGUAGE, Layout},
    page,
    session::{self, Session, page_after_sign_in, page_before},
};
use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response},
};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_identity::{
    console::{self, CallbackError},
    oidc::{authorize::Parameters, clients::CONSOLE_REDIRECT},
    relying_party,
};
use bailiwick_platform::RequestContext;
use bailiwick_web::{Language, Params, THEME, THEMES};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use serde_json::json;
use url::{Host, Url};

/// `GET /console/sign-in`: to the provider.
pub(crate) async fn sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    uri: Uri,
    params: Params,
) -> Response {
    let layout = Layout::of(&app, &headers, &uri);
    if !console::is_available(&app.identity) {
        return message(&layout, StatusCode::OK, "no_client");
    }
    let wanted = page_after_sign_in(params.one("page").unwrap_or_default());
    let is_fresh = params.one("fresh").is_some();
    match console::begin(&app.identity, &return_address(&app, &headers), wanted, is_fresh).await {
        Ok(entry) => {
            let mut response = found(&entry.address);
            session::set_entry(&app, response.headers_mut(), Some(&entry.cookie));
            response
        }
        Err(error) => failure::answer(&layout, &error),
    }
}

/// Where the provider sends the browser back to: the public address. While that is this machine, the browser may call
/// it by another of its names, and keeps its cookies by that one.
fn return_address(app: &App, headers: &HeaderMap) -> String {
    let public = &app.settings.public_url;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let requested = Url::parse(&format!("http://{host}/")).ok();
    let is_local = |url: &Url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        _ => false,
    };
    let is_local_service = Url::parse(public).is_ok_and(|url| url.scheme() == "http" && is_local(&url));
    match requested.filter(|requested| is_local_service && is_local(requested)) {
        Some(requested) => format!("{}/{CONSOLE_REDIRECT}", requested.origin().ascii_serialization()),
        None => format!("{public}/{CONSOLE_REDIRECT}"),
    }
}

/// `GET /console/signed-in`: back from the provider.
pub(crate) async fn signed_in(
    State(app): State<App>,
    Extension(context): Extension<RequestContext>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let layout = Layout::of(&app, &headers, &uri);
    // As often as any other client may exchange.
    let counted = match app.identity.token_requests.count(app.as_ref(), context.client_ip) {
        Ok(counted) => counted,
        Err(error) => return failure::answer(&layout, &error),
    };
    let answer = Parameters::parse(uri.query().unwrap_or_default().as_bytes());
    let entry = session::entry_cookie(&app, &headers);
    let before = session::session_cookie(&app, &headers);
    let cookies = (entry.as_deref(), before.as_deref());
    let mut response = match console::complete(&app.identity, &context, counted, cookies, &answer).await {
        Ok(entered) => {
            let mut response = page::see_other(page_after_sign_in(&entered.page));
            session::set_session(&app, response.headers_mut(), &entered.cookie);
            response
        }
        Err(CallbackError::Stale) => message(&layout, StatusCode::BAD_REQUEST, "stale"),
        Err(CallbackError::NotAdmitted) => message(&layout, StatusCode::FORBIDDEN, "not_admitted"),
        Err(CallbackError::Fault(error)) => failure::answer(&layout, &error),
    };
    session::set_entry(&app, response.headers_mut(), None);
    response
}

/// `POST /console/sign-out`.
pub(crate) async fn sign_out(State(app): State<App>, session: Session) -> Outcome {
    console::leave(&app.identity, &session.browser).await?;
    let after = format!("{}/console/signed-out", app.settings.public_url);
    let address = relying_party::end_session_address(&app.identity, &after).await;
    let mut response = page::see_other(address.as_deref().unwrap_or("/console/signed-out"));
    session::clear_session(&app, response.headers_mut());
    Ok(response)
}

/// `GET /console/signed-out`.
pub(crate) async fn signed_out(State(app): State<App>, headers: HeaderMap, uri: Uri) -> Response {
    message(&Layout::of(&app, &headers, &uri), StatusCode::OK, "signed_out")
}

/// `POST /console/preferences`: theme and language of this browser. Then the page they were chosen on again.
pub(crate) async fn preferences(State(app): State<App>, headers: HeaderMap, form: Form) -> Response {
    let mut response = page::see_other(&page_before(&headers));
    if form.has("theme") {
        let theme = form.text("theme");
        let chosen = THEMES.into_iter().find(|chosen| *chosen == theme).unwrap_or_default();
        session::set_preference(&app, response.headers_mut(), THEME, chosen);
    }
    if let Some(language) = Language::parse(&form.text("language")) {
        session::set_preference(&app, response.headers_mut(), LANGUAGE, language.code());
    }
    response
}

/// `POST /console/acting/go-on`: with the rights of the other person.
pub(crate) async fn go_on(State(app): State<App>, session: Session) -> Outcome {
    console::go_on(&app.identity, &session.browser).await?;
    Ok(page::see_other("/console/"))
}

/// `POST /console/acting/back`: ends the impersonation.
pub(crate) async fn back(State(app): State<App>, session: Session) -> Outcome {
    let cookie = console::go_back(&app.identity, &session.browser, &session.context).await?;
    let mut response = page::see_other("/console/");
    if let Some(cookie) = cookie {
        session::set_session(&app, response.headers_mut(), &cookie);
    }
    Ok(response)
}

fn message(layout: &Layout, status: StatusCode, kind: &str) -> Response {
    page::render(layout, status, "session/message.html", json!({"kind": kind}))
}

/// 302 to the provider.
fn found(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(location) => (StatusCode::FOUND, [(header::LOCATION, location)]).into_response(),
        Err(_) => {
            tracing::error!(error = %Error::internal("an address that is no header value"), "nobody can sign in");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
