//! Alerts the service raises itself: for many systems of a tenant in one batch (contract 04 §1.16).

use super::{
    AlertRouter, Fault, embedded,
    history::{Origin, later},
    queue,
};
use crate::App;
use bailiwick_alerting::{Nanos, PostedAlert, alert::write_alerts};
use bailiwick_domain::OrgId;
use bailiwick_outbound::router_client::Caller;

/// Alerts of one request to a remote router.
const ALERTS: usize = 1000;

/// One alert and the key of the system it is about.
pub(crate) type Raised = (String, PostedAlert);

/// Posts alerts of a tenant; the positions of those that were not taken, which are to be tried again. A remote router
/// that does not run the tenant yet gets them later.
///
/// # Errors
/// When none was taken.
pub(crate) async fn raise(app: &App, tenant: OrgId, alerts: Vec<Raised>) -> Result<Vec<usize>, Fault> {
    let now = Nanos::from_ts(app.now());
    let client = match app.alerting().router_for_worker() {
        AlertRouter::Embedded => return embedded::raise(app, tenant, now, alerts).await,
        AlertRouter::Remote(client) => client,
    };
    let id = tenant.to_string();
    for raised in alerts.chunks(ALERTS) {
        let chunk: Vec<PostedAlert> = raised.iter().map(|(_, alert)| alert.clone()).collect();
        let request_id = app.fresh::<uuid::Uuid>().to_string();
        let caller = Caller { tenant: &id, request_id: &request_id };
        match client.put_alerts(caller, write_alerts(&chunk).into()).await.map_err(Fault::from) {
            Ok(()) => queue::supersede(app, tenant, &chunk).await?,
            Err(Fault::UnknownTenant) => queue::keep(app, tenant, now, chunk).await?,
            Err(fault) => return Err(fault),
        }
        later::note(
            app,
            tenant,
            now,
            Origin::Service,
            raised.iter().map(|(key, alert)| (key.as_str(), alert)),
        );
    }
    Ok(Vec::new())
}
