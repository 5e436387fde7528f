//! The alert router: every operation for people, wherever alerts are. Those for systems are in `crate::router`.

use super::{
    Named,
    alert_groups::Groups,
    alert_query::{ActiveAlert, ActiveAlerts, AlertQuery},
    embedded, embedded_changes,
    find_silence::{CallerContext, SilenceTarget},
    found_silences::FoundSilences,
    remote, remote_changes,
    silence_orders::{Change, NewSilence, PreparedSilence},
    stats::catalogue,
    to_error, within,
};
use crate::{AlertRouter, Alerts};
use bailiwick_alertmanager::{Labels, ListedSilence};
use bailiwick_domain::{OrgId, Page, Result};
use bailiwick_policy::{Caller, Scope};
use bailiwick_store::history::{OrganizationsRead, active_groups::GroupBy};
use tokio::time::Instant;
use uuid::Uuid;

impl AlertRouter {
    /// The active alerts of these organizations.
    pub(super) async fn active(
        &self,
        service: &Alerts,
        within: OrganizationsRead,
        query: AlertQuery,
    ) -> Result<ActiveAlerts> {
        match self {
            AlertRouter::Embedded => {
                let page = embedded::active(service, within, query).await?;
                Ok(ActiveAlerts { page, warnings: Vec::new() })
            }
            AlertRouter::Remote(client) => remote::active(service, client, &within, &query).await,
        }
    }

    /// Groups of the active alerts of these organizations.
    pub(super) async fn groups(
        &self,
        service: &Alerts,
        within: OrganizationsRead,
        query: AlertQuery,
        group_by: GroupBy,
    ) -> Result<Groups> {
        match self {
            AlertRouter::Embedded => {
                let page = embedded::groups(service, within, query, group_by).await?;
                Ok(Groups { page, warnings: Vec::new() })
            }
            AlertRouter::Remote(client) => remote::groups(service, client, &within, &query, group_by).await,
        }
    }

    /// The names of the active alerts. A remote router is not asked for them; there all known names are given.
    pub(super) async fn active_names(
        &self,
        service: &Alerts,
        caller: &Caller,
        named: &Named,
    ) -> Result<Vec<String>> {
        match self {
            AlertRouter::Embedded => {
                embedded::active_names(service, within(service, caller, named).await?).await
            }
            AlertRouter::Remote(_) => {
                Ok(catalogue(service, caller).await?.into_iter().map(|entry| entry.name).collect())
            }
        }
    }

    /// One active alert of a tenant, by its fingerprint.
    pub(super) async fn active_alert(
        &self,
        service: &Alerts,
        tenant: OrgId,
        fingerprint: &str,
    ) -> Result<Option<ActiveAlert>> {
        match self {
            AlertRouter::Embedded => embedded::active_alert(service, tenant, fingerprint).await,
            AlertRouter::Remote(client) => remote::active_alert(service, client, tenant, fingerprint).await,
        }
    }

    /// The active alerts of one system; the query names no system.
    pub(super) async fn active_of_system(
        &self,
        service: &Alerts,
        tenant: OrgId,
        system_key: String,
        mut query: AlertQuery,
    ) -> Result<Page<ActiveAlert>> {
        match self {
            AlertRouter::Embedded => {
                query.filter.system_keys = Some(vec![system_key]);
                let within = OrganizationsRead::all(Scope::Organization(tenant));
                embedded::active(service, within, query).await
            }
            AlertRouter::Remote(client) => {
                remote::active_of_system(service, client, (tenant, &system_key), &query).await
            }
        }
    }

    /// The silences of one system, others of its tenant perhaps among them.
    pub(super) async fn silences_of_system(
        &self,
        service: &Alerts,
        tenant: OrgId,
        system_key: &str,
    ) -> Result<Vec<ListedSilence>> {
        match self {
            AlertRouter::Embedded => embedded::silences_of_system(service, tenant, system_key).await,
            AlertRouter::Remote(client) => {
                remote::silences_of(service, client, tenant, Some(system_key)).await.map_err(to_error)
            }
        }
    }

    /// The silences of the systems of these organizations; `system_keys`: only of these. Those that are over may be
    /// among them, and are `with_ended`.
    pub(super) async fn silences_within(
        &self,
        service: &Alerts,
        within: &OrganizationsRead,
        system_keys: Option<&[String]>,
        with_ended: bool,
    ) -> Result<FoundSilences> {
        match self {
            AlertRouter::Embedded => embedded::silences(service, within, system_keys, with_ended).await,
            AlertRouter::Remote(client) => remote::silences(service, client, within, system_keys).await,
        }
    }

    /// The organization of a silence, if it is one of these.
    pub(super) async fn tenant_of_silence(
        &self,
        service: &Alerts,
        within: &OrganizationsRead,
        id: Uuid,
    ) -> Result<Option<OrgId>> {
        match self {
            AlertRouter::Embedded => embedded::tenant_of_silence(service, within, id).await,
            AlertRouter::Remote(client) => remote::tenant_of_silence(service, client, within, id).await,
        }
    }

    /// The labels of an active alert that is not silenced yet.
    pub(super) async fn unsilenced_alert(
        &self,
        service: &Alerts,
        target: &SilenceTarget,
        fingerprint: &str,
    ) -> Result<Labels> {
        match self {
            AlertRouter::Embedded => embedded_changes::unsilenced_alert(service, target, fingerprint).await,
            AlertRouter::Remote(client) => {
                remote_changes::unsilenced_alert(service, client, target, fingerprint).await
            }
        }
    }

    /// Silences an alert; returns the id of the silence.
    pub(super) async fn create_silence(
        &self,
        service: &Alerts,
        context: CallerContext<'_>,
        target: &SilenceTarget,
        new: &NewSilence,
    ) -> Result<Uuid> {
        match self {
            AlertRouter::Embedded => embedded_changes::create(service, context, target, new).await,
            AlertRouter::Remote(client) => {
                remote_changes::create(service, client, context, target, new).await
            }
        }
    }

    /// Makes a silence of a system that no alert was named for; returns its id. A remote router must have answered by
    /// `until`.
    pub(super) async fn post_silence(
        &self,
        service: &Alerts,
        context: CallerContext<'_>,
        system: (OrgId, &str),
        order: PreparedSilence,
        until: Instant,
    ) -> Result<Uuid> {
        match self {
            AlertRouter::Embedded => {
                embedded_changes::create_for_system(service, context, system, order).await
            }
            AlertRouter::Remote(client) => {
                remote_changes::create_for_system(service, client, context, system, (order, until)).await
            }
        }
    }

    /// Changes a silence of a system; returns its id, which may be a new one. A remote router must have answered by
    /// `until`.
    pub(super) async fn change_silence(
        &self,
        service: &Alerts,
        context: CallerContext<'_>,
        system: (OrgId, &str),
        change: Change,
        until: Instant,
    ) -> Result<Uuid> {
        match self {
            AlertRouter::Embedded => embedded_changes::change(service, context, system, change).await,
            AlertRouter::Remote(client) => {
                remote_changes::change(service, client, context, system, (change, until)).await
            }
        }
    }

    /// Ends a silence of a system. A remote router must have answered by `until`.
    pub(super) async fn end_silence(
        &self,
        service: &Alerts,
        context: CallerContext<'_>,
        system: (OrgId, &str),
        stored: ListedSilence,
        until: Instant,
    ) -> Result<()> {
        match self {
            AlertRouter::Embedded => embedded_changes::end(service, context, system, &stored).await,
            AlertRouter::Remote(client) => {
                remote_changes::end(service, client, context, system, (stored, until)).await
            }
        }
    }
}
