//! Who has signed in: the cookie, what of an impersonated request is recorded, and what every signed-in page knows.

use crate::{
    assets,
    failure::{self, Failure, Outcome},
    flash::{self, Done},
    form::{FORM_TIME, Form, MAX_FORM_BYTES},
    layout::Layout,
    page, unsent,
};
use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::App;
use bailiwick_domain::{Error, Result};
use bailiwick_identity::{
    auth::is_fresh_sign_in_required,
    console::{self, BrowserSession},
    impersonation::{self, Call, OpenEntry, SentBody, of_body, shown_address},
};
use bailiwick_platform::{RequestContext, replica, shared_read::sharing_reads};
use bailiwick_policy::{Caller, Permission};
use bailiwick_web::{Cookie, cookie, read, set_cookie};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, request::Parts};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use url::{Url, form_urlencoded};

/// Name of the session's cookie.
const SESSION: &str = "bailiwick-console";
/// Name of the cookie that a browser brings back from the provider.
const ENTRY: &str = "bailiwick-console-entry";
/// Name of the cookie that carries a note from a form to the page after it.
const NOTE: &str = "bailiwick-console-note";
/// Longest time for a page.
const PAGE_TIME: Duration = Duration::from_secs(30);
/// Longest time for a form: longer than the longest operation that one stands for, the move of a system.
const FORM_PAGE_TIME: Duration = Duration::from_secs(320);
/// The form for theme and language. They belong to the browser, so it works without a session too.
const PREFERENCES: &str = "/console/preferences";
/// Forms that work in an impersonation that is over too: those that lead out of it, and that of the browser.
const WAYS_OUT: [&str; 3] = ["/console/acting/back", "/console/sign-out", PREFERENCES];

/// Forms with addresses of webhooks, which are secrets.
const WITH_WEBHOOKS: [&str; 2] = ["/console/notifications", "/console/timeline/webhooks"];

/// What a page knows of its request.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Whose rights count.
    pub(crate) caller: Caller,
    /// What is shown around the page.
    pub(crate) layout: Layout,
    pub(crate) browser: Arc<BrowserSession>,
    /// For use cases that write.
    pub(crate) context: RequestContext,
}

impl Session {
    /// What the gate of the interface asks of an operation that needs a permission.
    ///
    /// # Errors
    /// 403 `insufficient permissions`.
    pub(crate) fn needs(&self, permission: Permission) -> Outcome<()> {
        match self.caller.holds(permission) {
            true => Ok(()),
            false => Err(Error::insufficient_permissions().into()),
        }
    }

    /// Requires one of several permissions.
    ///
    /// # Errors
    /// 403 `insufficient permissions`.
    pub(crate) fn needs_one_of(&self, permissions: &[Permission]) -> Outcome<()> {
        match self.caller.holds_one_of(permissions) {
            true => Ok(()),
            false => Err(Error::insufficient_permissions().into()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Session {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Session, Failure> {
        let session = parts.extensions.get::<Session>().cloned();
        session.ok_or_else(|| Error::internal("nobody has signed in; is the page behind the session?").into())
    }
}

/// Lets those in who have signed in; sends the others to the provider, and back to this page.
pub(crate) async fn enter(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let layout = Layout::of(&app, &parts.headers, &parts.uri);
    let is_way_out = WAYS_OUT.contains(&parts.uri.path());
    let mut session = match recognise(&app, &parts, layout.clone()).await {
        Ok(Some(session)) => session,
        Ok(None) if parts.uri.path() == PREFERENCES => {
            return next.run(Request::from_parts(parts, body)).await;
        }
        Ok(None) if parts.method == Method::POST && !is_way_out => {
            let (before, is_secret) = (page_before(&parts.headers), has_webhooks(parts.uri.path()));
            return unsent::page(&layout, &parts, body, &before, is_secret).await;
        }
        Ok(None) => return to_sign_in(&parts.method, &parts.uri),
        Err(error) => return failure::answer(&layout, &error),
    };
    // Of the request that all its log lines are in.
    tracing::Span::current().record("caller", "user");
    let is_renewed = session.browser.is_renewed;
    let note = note_cookie(&app, &parts.headers);
    session.layout.done = flash::word_for(&app, note, &parts.method, &parts.uri, session.layout.language);
    let mut response = match session.browser.caller() {
        Err(_) if !is_way_out => over(&session.layout),
        _ => {
            parts.extensions.insert(session.clone());
            recorded(&app, &session, Request::from_parts(parts.clone(), body), next).await
        }
    };
    // Requests in an impersonation are recorded, so none is made beforehand.
    if session.browser.acting.is_none()
        && let Ok(rules) = HeaderValue::from_str(&assets::prefetch())
    {
        response.headers_mut().insert(HeaderName::from_static("speculation-rules"), rules);
    }
    let sets_cookie = response.headers().contains_key(header::SET_COOKIE);
    if is_renewed
        && !sets_cookie
        && let Some(value) = session_cookie(&app, &parts.headers)
    {
        set_session(&app, response.headers_mut(), &value);
    }
    set_note(&app, &mut response, session.layout.done.is_some());
    response
}

/// Gives the browser the note of what a form has done, or takes back the one that is shown.
fn set_note(app: &App, response: &mut Response, is_shown: bool) {
    let sealed = response.extensions_mut().remove::<Done>().map(|done| done.sealed(app));
    let (value, life) = match sealed {
        Some(Ok(value)) => (value, flash::LIFE),
        None if is_shown => (String::new(), Duration::ZERO),
        // Without a note the page is the same.
        _ => return,
    };
    set_cookie(response.headers_mut(), Cookie { name: NOTE, value: &value, life, is_https: is_https(app) });
}

/// The cookie that carries a note.
fn note_cookie(app: &App, headers: &HeaderMap) -> Option<String> {
    cookie(headers, NOTE, is_https(app))
}

async fn recognise(app: &App, parts: &Parts, layout: Layout) -> Result<Option<Session>> {
    let Some(value) = session_cookie(app, &parts.headers) else { return Ok(None) };
    let Some(browser) = console::browser_session(&app.identity, &value).await? else { return Ok(None) };
    let open = console::open(&app.identity, &browser).await?;
    let caller = browser.caller().cloned().unwrap_or_else(|_| browser.own.clone());
    let context = parts.extensions.get::<RequestContext>().cloned();
    let context = context.ok_or_else(|| Error::internal("the request has no context"))?;
    let layout = layout.signed_in(&caller, open.as_ref());
    Ok(Some(Session { caller, layout, browser: Arc::new(browser), context }))
}

/// The impersonation that the request would be made in is over.
fn over(layout: &Layout) -> Response {
    page::render(layout, StatusCode::UNAUTHORIZED, "session/message.html", json!({"kind": "acting_over"}))
}

/// Serves the page; one in an impersonation is recorded before anything is done.
async fn recorded(app: &App, session: &Session, request: Request, next: Next) -> Response {
    let acting = session.browser.acting.as_ref().filter(|acting| acting.is_recorded);
    let Some(acting) = acting else { return serve(app, session, request, next).await };
    let (parts, body) = request.into_parts();
    let opened = open(app, acting.session, &parts, body).await;
    let (record, body) = match opened {
        Ok(opened) => opened,
        Err(error) => return failure::answer(&session.layout, &error),
    };
    let response = serve(app, session, Request::from_parts(parts, body), next).await;
    let status = response.status();
    let words = status.canonical_reason().unwrap_or("Unknown");
    record.complete(status.as_u16(), words, None).await;
    response
}

async fn open(
    app: &App,
    session: bailiwick_domain::ImpersonationId,
    parts: &Parts,
    body: Body,
) -> Result<(OpenEntry, Body)> {
    let (mut data, mut body) = (None, body);
    let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if content_type.is_some_and(|media| media.starts_with("multipart/form-data")) {
        // Of a file its size is recorded; the page reads it.
        let size = parts.headers.get(header::CONTENT_LENGTH).and_then(|size| size.to_str().ok());
        let size = size.and_then(|size| size.parse().ok()).unwrap_or_default();
        data = Some(of_body(SentBody::Bytes(size), content_type, false));
    } else if parts.method == Method::POST {
        let bytes = read(body, MAX_FORM_BYTES, FORM_TIME).await?;
        data = (!bytes.is_empty()).then(|| of_form(parts.uri.path(), content_type, &bytes));
        body = Body::from(bytes);
    }
    let path = shown_address(parts.uri.path(), parts.uri.query());
    let call = Call { session, path: &path, method: parts.method.as_str(), data: data.as_deref() };
    Ok((impersonation::open(&app.identity, call).await?, body))
}

/// Whether forms with this path hold addresses of webhooks.
pub(crate) fn has_webhooks(path: &str) -> bool {
    WITH_WEBHOOKS.iter().any(|start| path.starts_with(start))
}

/// What is recorded of a form.
fn of_form(path: &str, content_type: Option<&str>, body: &[u8]) -> String {
    let has_webhooks = has_webhooks(path);
    let is_form = content_type.is_some_and(|media| media.starts_with("application/x-www-form-urlencoded"));
    match Form::read(body).to_json().filter(|_| is_form) {
        Some(fields) => of_body(SentBody::Whole(fields.to_string().as_bytes()), content_type, has_webhooks),
        None => of_body(SentBody::Bytes(body.len() as u64), content_type, has_webhooks),
    }
}

async fn serve(app: &App, session: &Session, request: Request, next: Next) -> Response {
    let time = if request.method() == Method::POST { FORM_PAGE_TIME } else { PAGE_TIME };
    let only_reads = request.method() == Method::GET;
    let before = match only_reads {
        true => {
            let path = request.uri().path_and_query().map_or("", |path| path.as_str());
            page_after_sign_in(path).to_owned()
        }
        false => page_before(request.headers()),
    };
    let made = next.run(request);
    let made = async {
        if only_reads { replica::read(&app.platform, sharing_reads(made)).await } else { made.await }
    };
    let Ok(mut response) = tokio::time::timeout(time, made).await else {
        let log = format!("no page within {} s", time.as_secs());
        let error = Error::Unavailable { message: "service temporarily unavailable".into(), log };
        return failure::answer(&session.layout, &error);
    };
    match response.extensions_mut().remove::<Failure>() {
        Some(Failure::Refused(error)) if is_fresh_sign_in_required(&error) => {
            sign_in_again(&session.layout, &before)
        }
        Some(Failure::Refused(error)) => failure::answer(&session.layout, &error),
        Some(Failure::PastTheEnd(last)) => page::see_other(&last),
        None => response,
    }
}

/// In place of a sensitive page or form: the person signs in again, and comes back to the page, or to that of the form.
fn sign_in_again(layout: &Layout, before: &str) -> Response {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("fresh", "1")
        .append_pair("page", before)
        .finish();
    let context = json!({"kind": "fresh", "sign_in": format!("/console/sign-in?{query}")});
    page::render(layout, StatusCode::UNAUTHORIZED, "session/message.html", context)
}

/// The page that a form was sent from, if it is one of ours.
pub(crate) fn page_before(headers: &HeaderMap) -> String {
    let before = headers.get(header::REFERER).and_then(|before| before.to_str().ok());
    let before = before.and_then(|before| Url::parse(before).ok());
    let path = before.map(|url| match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    });
    page_after_sign_in(path.as_deref().unwrap_or_default()).to_owned()
}

/// To the provider; a page that was asked for is kept.
fn to_sign_in(method: &Method, uri: &Uri) -> Response {
    let is_page = matches!(*method, Method::GET | Method::HEAD);
    let requested = uri.path_and_query().map_or("", |requested| requested.as_str());
    if !is_page || page_after_sign_in(requested) == "/console/" {
        return page::see_other("/console/sign-in");
    }
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("page", requested).finish();
    page::see_other(&format!("/console/sign-in?{query}"))
}

/// The page that a browser opens after the sign-in: the given one below `/console/`, else Home.
pub(crate) fn page_after_sign_in(page: &str) -> &str {
    const FIRST: &str = "/console/";
    let is_plain = page.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    // Browsers take `%2e` for a dot.
    let path = page.split('?').next().unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
    let is_below = page.starts_with(FIRST) && !path.contains("/..") && !page.contains("//");
    if is_plain && is_below { page } else { FIRST }
}

fn is_https(app: &App) -> bool {
    app.settings.public_url.starts_with("https://")
}

/// The cookie of the session.
pub(crate) fn session_cookie(app: &App, headers: &HeaderMap) -> Option<String> {
    cookie(headers, SESSION, is_https(app))
}

/// Sets it for as long as the session lives without a visit.
pub(crate) fn set_session(app: &App, headers: &mut HeaderMap, value: &str) {
    let life = app.settings.tokens.refresh;
    set_cookie(headers, Cookie { name: SESSION, value, life, is_https: is_https(app) });
}

/// Makes the browser forget it.
pub(crate) fn clear_session(app: &App, headers: &mut HeaderMap) {
    set_cookie(headers, Cookie { name: SESSION, value: "", life: Duration::ZERO, is_https: is_https(app) });
}

/// The cookie that the browser brings back from the provider.
pub(crate) fn entry_cookie(app: &App, headers: &HeaderMap) -> Option<String> {
    cookie(headers, ENTRY, is_https(app))
}

/// Sets it; none makes the browser forget it.
pub(crate) fn set_entry(app: &App, headers: &mut HeaderMap, value: Option<&str>) {
    let life = if value.is_some() { console::ENTRY_LIFE } else { Duration::ZERO };
    let value = value.unwrap_or_default();
    set_cookie(headers, Cookie { name: ENTRY, value, life, is_https: is_https(app) });
}

/// Keeps a preference of a browser for a year.
pub(crate) fn set_preference(app: &App, headers: &mut HeaderMap, name: &str, value: &str) {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    let life = if value.is_empty() { Duration::ZERO } else { YEAR };
    set_cookie(headers, Cookie { name, value, life, is_https: is_https(app) });
}

#[cfg(test)]
mod tests {
    use super::page_after_sign_in;

    #[test]
    fn only_pages_of_the_console_are_kept() {
        for page in ["/console/", "/console/systems?search=a%20b&page=2", "/console/systems/x/changes"] {
            assert_eq!(page_after_sign_in(page), page);
        }
        for other in [
            "",
            "/",
            "/console",
            "/consoles/",
            "//evil.example/console/",
            "https://evil.example/console/",
            "/console//evil.example",
            "/console/../oidc/session/end",
            "/console/\\evil.example",
            "/console/\r\nset-cookie: a=b",
        ] {
            assert_eq!(page_after_sign_in(other), "/console/", "{other}");
        }
    }
}
