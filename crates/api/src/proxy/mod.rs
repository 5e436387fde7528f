//! The alert interface: the protocol of Alertmanager's tools, for systems below `services/{backend}/{alert_router}`
//! (spec: alerts#system-interface), and for people below an organization (`organization`).
//!
//! It comes before all other routes ([`Front`]), because its paths, methods and error bodies have rules of their own. A
//! request is authenticated, counted, routed, read, and answered by one use case of `bailiwick_alerts`; nothing of it
//! is ever passed on. To add an operation: a [`Target`], its arm in [`Proxy::serve`], its row in `routes::system_side`.

mod answer;
mod intake;
mod organization;
mod target;

use crate::{
    extract::authorization,
    route::{Credential, Route},
    route_metrics,
};
use answer::{Answer, finished, of_error, of_fault};
use axum::{Router, extract::Request, response::Response};
use bailiwick_alertmanager::{
    AlertsQuery, Nanos, Reject, SilencesQuery,
    listing::{NEUTRAL_RECEIVER, group_alerts, render},
    query::receivers_query,
    silence::{created, path_id},
    status::{metrics_document, receivers_document, status_document},
};
use bailiwick_alerts::{self as alerts, AlertRouter, Fault, Sender};
use bailiwick_app::App;
use bailiwick_identity::credentials;
use bailiwick_platform::{RequestContext, http_metrics::WorkerMetrics};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Method, request::Parts};
use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use target::{Mounts, NoRoute, Target, V2, metrics_route, v2_route};
use tower::Service;
use tracing::Instrument;

/// The state that every worker keeps for the proxy.
#[derive(Debug)]
pub struct Proxy {
    app: App,
    router: AlertRouter,
    mounts: Mounts,
    status: Bytes,
    metrics: Bytes,
    worker: Arc<WorkerMetrics>,
    places: route_metrics::RouteSeries,
    /// The rows for people, by operation.
    for_people: HashMap<String, Route>,
    /// By which a caller is refused before the path is looked at.
    any_for_people: Route,
}

impl Proxy {
    /// For one worker, with its own connections to a remote router.
    fn new(app: &App, worker: Arc<WorkerMetrics>) -> Arc<Proxy> {
        let settings = &app.settings.alerting;
        let version = &settings.reported_version;
        let rows: Vec<Route> = crate::routes::table().into_iter().filter(Route::is_proxied).collect();
        let for_people = rows.iter().filter(|row| row.credential == Credential::ApiKey);
        Arc::new(Proxy {
            router: app.alerts.state.router_for_worker(),
            mounts: Mounts::new(&app.settings),
            status: status_document(version, Nanos::from_ts(app.platform.started_at)).into(),
            metrics: metrics_document(version).into(),
            app: app.clone(),
            places: route_metrics::RouteSeries::of(rows.iter(), &worker),
            any_for_people: crate::routes::get("/organizations/{id}/alertmanager", "", "")
                .credential(Credential::ApiKey),
            for_people: for_people.map(|row| (row.operation.clone(), row.clone())).collect(),
            worker,
        })
    }
}

/// Handles the requests below `services/`; all others continue to the rest of the service.
#[derive(Clone)]
pub struct Front {
    proxy: Arc<Proxy>,
    rest: Router,
}

impl Front {
    /// In front of `rest`.
    pub fn new(app: &App, worker: Arc<WorkerMetrics>, rest: Router) -> Front {
        Front { proxy: Proxy::new(app, worker), rest }
    }
}

impl Service<Request> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.proxy.mounts.target(request.uri().path()) {
            None => Box::pin(self.rest.call(request)),
            Some(target) => {
                let proxy = self.proxy.clone();
                Box::pin(async move { Ok(proxy.respond(target, request).await) })
            }
        }
    }
}

impl Proxy {
    /// The whole answer in every case; a panic only ends this request.
    async fn respond(&self, target: Target, request: Request) -> Response {
        let watch = self.worker.begin();
        let place = self.places.get(target.operation(request.method()));
        let context = crate::layers::context(&self.app, &request);
        let is_head = request.method() == Method::HEAD;
        let span = crate::layers::span(&context, &request);
        if let Some(route) = route_metrics::route(&self.worker, place) {
            span.record("route", route);
        }
        // In one expression: moving a future from one variable to another doubles its size.
        let answer = AssertUnwindSafe(self.answer(target, request, &context))
            .catch_unwind()
            .instrument(span.clone())
            .await;
        let mut response = finished(answer.unwrap_or_else(|_| crate::error::panicked()), is_head);
        crate::layers::complete(&self.app, response.headers_mut(), &context.request_id, false);
        span.in_scope(|| crate::layers::record_response(&self.app, &self.worker, place, &response));
        watch.answered(place, response.status().as_u16());
        response
    }

    async fn answer(&self, target: Target, request: Request, context: &RequestContext) -> Response {
        match target {
            Target::Unknown => crate::error::no_route(),
            Target::Healthy => answer::probe(request.method(), true),
            Target::Ready => {
                let is_ready = self.router.is_ready(&self.app.alerts).await;
                answer::probe(request.method(), is_ready)
            }
            Target::Alias if request.method() != Method::POST => crate::error::no_route(),
            Target::Organization(place, asked) => self.for_person((place, asked), request, context).await,
            Target::Metrics | Target::V1 | Target::V2(_) | Target::Alias => {
                self.for_system(target, request, context).await
            }
        }
    }

    /// Requests of systems: identifies the system and applies its rate limit.
    async fn for_system(&self, target: Target, request: Request, context: &RequestContext) -> Response {
        let (parts, body) = request.into_parts();
        let header = authorization(&parts.headers);
        let system = match target {
            Target::Alias => {
                credentials::authenticate_either(&self.app.identity, header, context.client_ip).await
            }
            _ => credentials::authenticate_system(&self.app.identity, header, context.client_ip).await,
        };
        let system = match system {
            Ok(system) => system,
            Err(error) => return of_error(&error),
        };
        crate::layers::note_caller("system");
        let ends_silence = matches!(&target, Target::V2(path) if ends_silence(v2_route(path, &parts.method)));
        let _in_flight = match self.app.alerts.state.throttle.admit(system.id, ends_silence) {
            Ok(in_flight) => in_flight,
            Err(fault) => return of_fault(fault),
        };
        let path = match target {
            Target::V2(path) => Some(path),
            Target::Alias => Some("/alerts".to_owned()),
            Target::V1 => return answer::gone(),
            _ => None,
        };
        let operation = match &path {
            Some(path) => v2_route(path, &parts.method),
            None => metrics_route(&parts.method),
        };
        let operation = match operation {
            Ok(operation) => operation,
            Err(NoRoute::Path) => return answer::path_not_found(path.as_deref().unwrap_or_default()),
            Err(NoRoute::Method(allowed)) => return answer::method_not_allowed(&parts.method, allowed),
        };
        let who = Sender::new(&system, &context.request_id);
        match self.serve(&who, operation, &parts, body).await {
            Ok(answer) => answer.into_response(),
            Err(fault) => of_fault(fault),
        }
    }

    async fn serve(
        &self,
        who: &Sender<'_>,
        operation: V2<'_>,
        parts: &Parts,
        body: axum::body::Body,
    ) -> Result<Answer, Fault> {
        let (app, router) = (&self.app, &self.router);
        let limits = &app.alerts.state.limits;
        let query = parts.uri.query().unwrap_or_default();
        if operation != V2::Metrics {
            intake::check_accept(&parts.headers)?;
        }
        match operation {
            V2::Metrics => Ok(Answer::Metrics(self.metrics.clone())),
            V2::PushAlerts => {
                let body = self.read("alerts", parts, body).await?;
                alerts::push_alerts(&app.alerts, router, who, &body).await?;
                Ok(Answer::Empty)
            }
            V2::ListAlerts => {
                let alerts =
                    alerts::list_alerts(&app.alerts, router, who, &AlertsQuery::parse(query, limits)?)
                        .await?;
                json(render(&alerts))
            }
            V2::ListGroups => {
                let alerts =
                    alerts::list_alerts(&app.alerts, router, who, &AlertsQuery::parse(query, limits)?)
                        .await?;
                json(render(&group_alerts(alerts)))
            }
            V2::SetSilence => {
                let body = self.read("silence", parts, body).await?;
                Ok(Answer::Json(created(alerts::set_silence(&app.alerts, router, who, &body).await?)))
            }
            V2::ListSilences => {
                let query = SilencesQuery::parse(query, limits)?;
                json(render(&alerts::list_silences(&app.alerts, router, who, &query).await?))
            }
            V2::GetSilence(id) => match alerts::silence(&app.alerts, router, who, path_id(id)?).await? {
                Some(silence) => json(render(&silence)),
                None => Err(Reject::EMPTY_NOT_FOUND.into()),
            },
            V2::ExpireSilence(id) => {
                match alerts::expire_silence(&app.alerts, router, who, path_id(id)?).await? {
                    true => Ok(Answer::Empty),
                    false => Err(Reject::EMPTY_NOT_FOUND.into()),
                }
            }
            V2::Status => Ok(Answer::Document(self.status.clone())),
            V2::Receivers => {
                Ok(Answer::Json(receivers_document(receivers_query(query, NEUTRAL_RECEIVER, limits)?)))
            }
        }
    }

    async fn read(&self, what: &'static str, parts: &Parts, body: axum::body::Body) -> Result<Bytes, Fault> {
        intake::read(what, &parts.headers, body, self.app.settings.alerting.limits.body_bytes).await
    }
}

/// Whether the request ends a silence: those have a rate of their own.
fn ends_silence(route: Result<V2<'_>, NoRoute>) -> bool {
    matches!(route, Ok(V2::ExpireSilence(_)))
}

fn json(text: Result<String, serde_json::Error>) -> Result<Answer, Fault> {
    text.map(Answer::Json).map_err(|e| Fault::Internal(e.to_string()))
}
