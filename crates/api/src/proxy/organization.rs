//! The alert interface of an organization, for the tools of people (spec: alerts-of-organizations). It answers like
//! that of systems; the caller is a person with an API key, and the alerts are those of all systems of the
//! organization.

use super::{
    Proxy,
    answer::{self, Answer, of_fault},
    ends_silence, intake, json,
    target::{NoRoute, OfOrganization, PathScope, V2},
};
use crate::{error, extract::authorization, gate, route::Route};
use axum::{body::Body, extract::Request, response::Response};
use bailiwick_alertmanager::{
    AlertsQuery, Reject, SilencesQuery,
    listing::{NEUTRAL_RECEIVER, group_alerts, render},
    query::receivers_query,
    silence::{created, path_id},
    status::receivers_document,
};
use bailiwick_alerts::{
    Fault,
    manage::{
        CallerContext,
        tools::{self, Reach},
    },
};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_identity::{api_keys::KeyWork, auth::BearerRequest, callers};
use bailiwick_platform::{RequestContext, replica};
use http::{Method, request::Parts};

impl Proxy {
    /// Identifies the person, checks their permission, then finds the organization.
    pub(super) async fn for_person(
        &self,
        (place, asked): (PathScope, OfOrganization),
        request: Request,
        context: &RequestContext,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let request = BearerRequest {
            authorization: authorization(&parts.headers),
            client_ip: context.client_ip,
            method: parts.method.as_str(),
            path: parts.uri.path(),
        };
        let route = asked.route(&parts.method);
        let work = if ends_silence(route) { KeyWork::EndsSilence } else { KeyWork::Any };
        let caller = match callers::authenticate_key(&self.app.identity, &request, work).await {
            Ok(caller) => caller,
            Err(Error::TooMany { retry_after }) => return answer::too_many(retry_after),
            Err(failure) => return error::answer(&failure, &self.any_for_people),
        };
        crate::layers::note_caller("key");
        let path = match &asked {
            OfOrganization::V1 => return answer::gone(),
            OfOrganization::V2(path) => path.as_str(),
            OfOrganization::Metrics => "",
        };
        let operation = match route {
            Ok(operation) => operation,
            Err(NoRoute::Path) => return answer::path_not_found(path),
            Err(NoRoute::Method(allowed)) => return answer::method_not_allowed(&parts.method, allowed),
        };
        let Some(row) = self.row(&place, &operation) else { return answer::path_not_found(path) };
        if let Err(failure) = gate::check_caller(&self.app, &caller, row, Some(&place.organization)) {
            return error::answer(&failure, row);
        }
        let by = CallerContext { caller: &caller, ctx: context };
        let only_reads = parts.method == Method::GET;
        let made = async {
            let reach =
                tools::reach(&self.app.alerts, &caller, &place.organization, place.with_descendants).await;
            let reach = match reach {
                Ok(reach) => reach,
                Err(failure) => return error::answer(&failure, row),
            };
            match self.serve_person(by, &reach, operation, (&parts, body)).await {
                Ok(answer) => answer.into_response(),
                Err(fault) => of_fault(fault),
            }
        };
        let made =
            async { if only_reads { replica::read(&self.app.platform, made).await } else { made.await } };
        let in_time = tokio::time::timeout(row.answers_within, made).await;
        in_time.unwrap_or_else(|_| of_fault(Fault::TimedOut))
    }

    fn row(&self, place: &PathScope, operation: &V2<'_>) -> Option<&Route> {
        self.for_people.get(place.operation(operation)?)
    }

    async fn serve_person(
        &self,
        by: CallerContext<'_>,
        reach: &Reach,
        operation: V2<'_>,
        (parts, body): (&Parts, Body),
    ) -> Result<Answer, Fault> {
        let app: &App = &self.app;
        let limits = &app.alerts.state.limits;
        let query = parts.uri.query().unwrap_or_default();
        if operation != V2::Metrics {
            intake::check_accept(&parts.headers)?;
        }
        let _permit = match operation {
            V2::ListAlerts | V2::ListGroups | V2::ListSilences => {
                Some(tools::permit(&app.alerts, reach).await?)
            }
            _ => None,
        };
        match operation {
            V2::Metrics => Ok(Answer::Metrics(self.metrics.clone())),
            // No row has it.
            V2::PushAlerts => Err(Fault::Internal("alerts are not pushed to an organization".into())),
            V2::ListAlerts => {
                json(render(&tools::alerts(&app.alerts, reach, &AlertsQuery::parse(query, limits)?).await?))
            }
            V2::ListGroups => {
                let alerts = tools::alerts(&app.alerts, reach, &AlertsQuery::parse(query, limits)?).await?;
                json(render(&group_alerts(alerts)))
            }
            V2::ListSilences => json(render(
                &tools::silences(&app.alerts, reach, &SilencesQuery::parse(query, limits)?).await?,
            )),
            V2::SetSilence => {
                let body = self.read("silence", parts, body).await?;
                Ok(Answer::Json(created(tools::set_silence(&app.alerts, by, reach, &body).await?)))
            }
            V2::GetSilence(id) => match tools::silence(&app.alerts, by, reach, path_id(id)?).await? {
                Some(silence) => json(render(&silence)),
                None => Err(Reject::EMPTY_NOT_FOUND.into()),
            },
            V2::ExpireSilence(id) => match tools::expire_silence(&app.alerts, by, reach, path_id(id)?).await?
            {
                true => Ok(Answer::Empty),
                false => Err(Reject::EMPTY_NOT_FOUND.into()),
            },
            V2::Status => Ok(Answer::Document(self.status.clone())),
            V2::Receivers => {
                Ok(Answer::Json(receivers_document(receivers_query(query, NEUTRAL_RECEIVER, limits)?)))
            }
        }
    }
}
