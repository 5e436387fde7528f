//! The checks of every request before its handler, in the order of spec: conventions#order-of-checks: version,
//! credential, record of an impersonated request, kind of credential, permission, self guard.

use crate::{
    error::{Failure, answer},
    extract::{authorization, bearer, client_ip},
    impersonation, layers,
    route::{Credential, Gate, Route},
    route_metrics::Matched,
};
use axum::{
    extract::{FromRequestParts, RawPathParams, Request, State},
    middleware::Next,
    response::Response,
};
use bailiwick_app::App;
use bailiwick_domain::{API_VERSION, Error, Result};
use bailiwick_identity::{callers, credentials, impersonation::Acting};
use bailiwick_platform::replica;
use bailiwick_policy::{Caller, Refusal, own_account, rebranding_gate};
use http::{HeaderMap, Method, request::Parts};
use serde_json::json;
use std::sync::Arc;

/// Admits or refuses a request, then runs the handler and renders its failure.
pub async fn gate(State((app, route)): State<(App, Arc<Route>)>, request: Request, next: Next) -> Response {
    let (mut parts, mut body) = request.into_parts();
    parts.extensions.insert(route.clone());
    layers::note_route(&route.path);
    let acting = match recognise(&app, &route, &mut parts).await {
        Ok(acting) => acting,
        Err(error) => return of_row(&route, answer(&error, &route)),
    };
    let mut record = None;
    if let Some(acting) = acting.as_ref().filter(|acting| acting.is_recorded) {
        match impersonation::open(&app, &route, acting.session, &mut parts, body).await {
            Ok((opened, read)) => (record, body) = (Some(opened), read),
            Err(error) => return of_row(&route, answer(&error, &route)),
        }
    }
    let response = serve(&app, &route, acting, Request::from_parts(parts, body), next).await;
    if let Some(record) = record {
        record.complete(response.status()).await;
    }
    of_row(&route, response)
}

/// Tells the outermost layer which row it was.
fn of_row(route: &Route, mut response: Response) -> Response {
    response.extensions_mut().insert(Matched::Row(route.place));
    response
}

/// The version is checked before the token (spec: conventions#order-of-checks).
async fn recognise(app: &App, route: &Route, parts: &mut Parts) -> Result<Option<Acting>> {
    check_version(&parts.headers)?;
    impersonation::recognise(app, route, parts).await
}

async fn serve(app: &App, route: &Route, acting: Option<Acting>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Err(error) = admit(app, route, acting, &mut parts).await {
        return answer(&error, route);
    }
    let only_reads = route.method == Method::GET && parts.extensions.get::<Caller>().is_some();
    let made = next.run(Request::from_parts(parts, body));
    let made = async { if only_reads { replica::read(&app.platform, made).await } else { made.await } };
    let Ok(mut response) = tokio::time::timeout(route.answers_within, made).await else {
        let log = format!("no answer within {} s", route.answers_within.as_secs_f64());
        return answer(&Error::Unavailable { message: "service temporarily unavailable".into(), log }, route);
    };
    match response.extensions_mut().remove::<Failure>() {
        Some(failure) => answer(&failure.0, route),
        None => response,
    }
}

async fn admit(app: &App, route: &Route, acting: Option<Acting>, parts: &mut Parts) -> Result<()> {
    match route.credential {
        Credential::Public | Credential::HistoryWebhook => return Ok(()),
        Credential::Provider => {
            if let Some(acting) = acting {
                parts.extensions.insert(acting.caller?);
            }
            return Ok(());
        }
        Credential::System | Credential::SystemOrLegacy | Credential::Legacy => {
            let header = authorization(&parts.headers);
            let ip = client_ip(parts)?;
            let system = match route.credential {
                Credential::System => credentials::authenticate_system(&app.identity, header, ip).await?,
                Credential::Legacy => credentials::authenticate_legacy(&app.identity, header, ip).await?,
                _ => credentials::authenticate_either(&app.identity, header, ip).await?,
            };
            layers::note_caller("system");
            parts.extensions.insert(system);
            return Ok(());
        }
        Credential::User | Credential::Session | Credential::SessionOrKey | Credential::ApiKey => {}
    }
    let caller = match acting {
        // This route ends the impersonation, even if the other user has already ended it.
        Some(acting) if route.ends_impersonation() && acting.caller.is_err() => return acting.exit,
        Some(acting) => acting.caller?,
        None => callers::authenticate_bearer(&app.identity, &bearer(parts)?).await?,
    };
    layers::note_caller(if caller.is_api_key() { "key" } else { "user" });
    let id = object_id(parts).await;
    check_caller(app, &caller, route, id.as_deref())?;
    if route.not_self && id.and_then(|id| id.parse().ok()).is_some_and(|id| caller.is_self(id)) {
        return Err(Error::forbidden("cannot perform administrative actions on yourself"));
    }
    parts.extensions.insert(caller);
    Ok(())
}

/// A request may pin the version; there is only one.
fn check_version(headers: &HeaderMap) -> Result<()> {
    match headers.get("api-version") {
        Some(asked) if asked != API_VERSION => {
            let asked = String::from_utf8_lossy(asked.as_bytes()).into_owned();
            let data = json!({"requested": asked, "supported": [API_VERSION]});
            Err(Error::BadRequest { message: "unsupported api version".into(), data })
        }
        _ => Ok(()),
    }
}

/// Checks the kind of credential, then the permission. `id`: the object of the path.
pub(crate) fn check_caller(app: &App, caller: &Caller, route: &Route, id: Option<&str>) -> Result<()> {
    check_kind(caller, route)?;
    check_gate(app, caller, route, id)
}

/// Checks the kind of token (spec: authorization#credentials).
fn check_kind(caller: &Caller, route: &Route) -> Result<()> {
    let is_key = caller.is_api_key();
    match route.credential {
        Credential::User if caller.acting_for().is_some() && route.starts_impersonation() => {
            Err(Refusal::AlreadyImpersonating.into())
        }
        Credential::User if caller.acting_for().is_some() => own_account(caller),
        // A key never has the permissions for a destroy or a password reset: the gate's own text (spec:
        // authorization#credentials).
        Credential::Session if is_key && route.gate != Gate::Open => Err(Error::insufficient_permissions()),
        Credential::ApiKey if !is_key => Err(Error::unauthenticated("api key required")),
        Credential::User | Credential::Session if is_key => {
            Err(Error::forbidden("this endpoint cannot be accessed with an api key"))
        }
        _ if caller.is_read_only() && route.method != Method::GET => Err(Error::insufficient_permissions()),
        _ => Ok(()),
    }
}

fn check_gate(app: &App, caller: &Caller, route: &Route, id: Option<&str>) -> Result<()> {
    let admitted = match route.gate {
        Gate::Open => true,
        Gate::Needs(permissions) => permissions.iter().all(|p| caller.holds(*p)),
        Gate::OneOf(permissions) => caller.holds_one_of(permissions),
        Gate::OwnOrganizationOr(permission) => {
            let own = caller.org().map(|o| o.id);
            caller.holds(permission) || (own.is_some() && id.and_then(|id| id.parse().ok()) == own)
        }
        Gate::Rebranding(change) => {
            let by_organizations = app.settings.rebranding.organizations_manage_assets;
            return Ok(rebranding_gate(caller, change, by_organizations)?);
        }
    };
    if admitted { Ok(()) } else { Err(Error::insufficient_permissions()) }
}

/// The path parameter `id`: the object of routes with a gate or self guard that needs one.
async fn object_id(parts: &mut Parts) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    params.iter().find(|(key, _)| *key == "id").map(|(_, value)| value.to_owned())
}
