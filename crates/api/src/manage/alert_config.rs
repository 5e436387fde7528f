//! Alert configuration (spec: alert-configuration#layers). Both spellings of a path are the same operation.

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Params, Service, Who},
    route::Route,
    wire::alert_config::{
        AlertConfigOutput, AlertEffectiveOutput, AlertPropagationOutput, AlertTestInput, AlertTestOutput,
        AlertYamlOutput,
    },
};
use axum::{
    extract::FromRequestParts,
    response::{IntoResponse, Response},
};
use bailiwick_alerts::{Alerts, config, notify};
use http::request::Parts;
use std::{convert::Infallible, sync::Arc};

/// The value of `format` for the configuration as the router would receive it.
pub(crate) const YAML: &str = "yaml";

/// The organization a query names.
fn organization(params: &Params) -> Option<&str> {
    params.text("organization_id")
}

/// The text of the answer: that of the older path `/alerting/config`, or that of `/alerts/config`.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    is_older: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Spelling {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Spelling, Infallible> {
        let route = parts.extensions.get::<Arc<Route>>();
        Ok(Spelling { is_older: route.is_some_and(|r| r.path.starts_with("/alerting/")) })
    }
}

impl Spelling {
    const fn of(self, older: &'static str, newer: &'static str) -> &'static str {
        if self.is_older { older } else { newer }
    }
}

/// `GET /alerts/config`, `GET /alerting/config`.
pub async fn get(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(request): Ctx,
    spelling: Spelling,
    params: Params,
) -> Outcome<Response> {
    let organization = organization(&params);
    let text =
        spelling.of("alerting configuration retrieved successfully", "alerting layer retrieved successfully");
    if params.one("format") == Some(YAML) {
        // The merged layers; this document has no tag, as it cannot be changed as a whole.
        let config = config::yaml(&alerts, &caller, organization).await?;
        return Ok(Answer::ok(text, AlertConfigOutput::Yaml(AlertYamlOutput { config })).into_response());
    }
    let found = config::get(&alerts, &caller, organization).await?;
    let version = found.version.clone();
    let layer = AlertConfigOutput::Layer(Box::new(found.into()));
    Ok(Answer::ok(text, layer).tagged(&alerts.platform, &request, &version)?)
}

/// `POST /alerts/config`, `POST /alerting/config`.
pub async fn set(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(request): Ctx,
    params: Params,
    body: JsonBody,
) -> Outcome<Answer<AlertPropagationOutput>> {
    let body = || body.raw("request body exceeds the configured maximum");
    let done = config::set(&alerts, &caller, &request, organization(&params), body).await?;
    Ok(Answer::ok("alerting configuration updated successfully", done.into()))
}

/// `DELETE /alerts/config`, `DELETE /alerting/config`.
pub async fn remove(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(request): Ctx,
    spelling: Spelling,
    params: Params,
) -> Outcome<Answer<AlertPropagationOutput>> {
    let done = config::remove(&alerts, &caller, &request, organization(&params)).await?;
    let text = spelling.of("all alerts disabled successfully", "alerting layer removed successfully");
    Ok(Answer::ok(text, done.into()))
}

/// `GET /alerts/config/effective`.
pub async fn effective(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    params: Params,
) -> Outcome<Answer<AlertEffectiveOutput>> {
    let is_one = params.many("organization_id").len() == 1;
    let view = config::view(&alerts, &caller, organization(&params).filter(|_| is_one)).await?;
    Ok(Answer::ok("effective alerting configuration retrieved successfully", view.into()))
}

/// `POST /alerts/config/test`.
pub async fn test(
    Service(alerts): Service<Alerts>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<AlertTestOutput>> {
    let order = || Ok(body.parse::<AlertTestInput>()?.into());
    let outcome = notify::send_test(&alerts, &caller, &request, order).await?;
    Ok(Answer::ok("test notification sent", outcome.into()))
}
