//! Lists for people from the embedded router: alerts and silences are rows of the database.

use super::{
    alert_query::{ActiveAlert, AlertQuery, decorate, live},
    cached_figures,
    found_silences::{FoundSilence, FoundSilences, SHOWN},
};
use crate::{Alerts, config, embedded, judging};
use bailiwick_alertmanager::{
    Labels, ListedAlert, ListedSilence, Nanos, StoredAlert, StoredSilence,
    active_silence::{ActiveSilence, Expressions, active_silences, is_silenced},
    config::{BLACKHOLE, Tree},
    router,
};
use bailiwick_domain::{Error, OrgId, Page, PageRequest, Result, SortDirection};
use bailiwick_policy::Scope;
use bailiwick_store::{
    StoreError,
    history::{
        OrganizationsRead,
        active::{self, ActiveFilter, ActiveOrder, ActiveQuery, ActiveRow, JUDGED},
        active_groups::{Group, GroupBy},
        silences::{self as stored_silences, Ending},
    },
    router as rows,
};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

/// Number of systems whose silences are read at once.
const SYSTEMS: usize = 500;
/// Number of alerts that are read at once.
const ALERTS: usize = 500;
/// The most bytes of records in one answer.
const BYTES: usize = 64 * 1024 * 1024;

/// The read of the alerts that the query selects, with the rows that silences suppress if it asks for them; none =
/// nothing can match.
async fn prepared(
    service: &Alerts,
    within: OrganizationsRead,
    query: AlertQuery,
) -> Result<Option<(ActiveQuery, Vec<i64>)>> {
    let (active, suppressed) = (query.wants(false), query.wants(true));
    if !active && !suppressed {
        return Ok(None);
    }
    let parsed = ActiveQuery {
        filter: query.filter,
        is_suppressed: (active != suppressed).then_some(suppressed),
        order: query.order,
        direction: query.direction,
        ..live(service, within)
    };
    let needs_states = parsed.is_suppressed.is_some() || parsed.order == ActiveOrder::Status;
    let states = if needs_states { suppressed_rows(service, &parsed).await? } else { Vec::new() };
    Ok(Some((parsed, states)))
}

/// A page of the active alerts of these organizations.
pub(super) async fn active(
    service: &Alerts,
    within: OrganizationsRead,
    query: AlertQuery,
) -> Result<Page<ActiveAlert>> {
    let (request, with_receivers) = (query.page, query.with_receivers);
    let Some((parsed, states)) = prepared(service, within, query).await? else {
        return Ok(Page { rows: Vec::new(), total: 0, request });
    };
    let all = async {
        match parsed.is_suppressed {
            // The suppressed ones are known.
            Some(true) => Ok(0),
            _ => cached_figures::figure(service, "alerts", &parsed, parsed.total(&service.platform.db)).await,
        }
    };
    let (rows, all) = tokio::join!(page(service, &parsed, &states, (request, with_receivers)), all);
    let (all, suppressed) = (all?, states.len() as u64);
    let total = match parsed.is_suppressed {
        Some(true) => suppressed,
        Some(false) => all.saturating_sub(suppressed),
        None => all,
    };
    Ok(Page { rows: rows?, total, request })
}

async fn page(
    service: &Alerts,
    query: &ActiveQuery,
    states: &[i64],
    (request, with_receivers): (PageRequest, bool),
) -> Result<Vec<ActiveAlert>> {
    let ids = cached_figures::page(service, query, states, request).await?;
    let (mut alerts, mut bytes) = (Vec::with_capacity(ids.len()), 0);
    for ids in ids.chunks(ALERTS) {
        let rows = active::by_ids(&service.platform.db, ids).await?;
        bytes += rows.iter().map(|row| row.payload.len()).sum::<usize>();
        if bytes > BYTES {
            return Err(Error::TooLarge { message: "too many alerts".into(), data: Value::Null });
        }
        alerts.extend(decorate(service, listed(service, query, rows, with_receivers).await?).await?);
    }
    Ok(alerts)
}

/// The alerts of these rows as they are now.
async fn listed(
    service: &Alerts,
    query: &ActiveQuery,
    rows: Vec<ActiveRow>,
    with_receivers: bool,
) -> Result<Vec<(OrgId, ListedAlert)>> {
    // Where silences have left out what they suppress, they change nothing that is left.
    let silences = match query.is_suppressed {
        Some(false) => HashMap::new(),
        _ => {
            let systems: BTreeSet<_> = rows.iter().map(|row| (row.key.0, row.system_key.clone())).collect();
            silences_of(service, systems.into_iter().collect()).await?
        }
    };
    let trees = match with_receivers {
        true => trees_of(service, rows.iter().map(|row| row.key.0).collect()).await?,
        false => HashMap::new(),
    };
    let (now, outage) = (Nanos::from_ts(query.now), service.state.outage.get());
    let has_silences = !silences.is_empty();
    let list = move |expressions: &Expressions| {
        // Alerts of one system are judged together, and shown in the order of the rows.
        let mut of_systems: HashMap<(OrgId, String), Vec<(usize, StoredAlert)>> = HashMap::new();
        for (index, row) in rows.into_iter().enumerate() {
            let Some(stored) = embedded::read::<StoredAlert>(&row.payload) else { continue };
            of_systems.entry((row.key.0, row.system_key)).or_default().push((index, stored));
        }
        let mut alerts = Vec::new();
        for (key, stored) in of_systems {
            let own = silences.get(&key).map(Vec::as_slice).unwrap_or_default();
            let receivers = |labels: &Labels| match trees.get(&key.0) {
                _ if !with_receivers => Vec::new(),
                Some(tree) => tree.route(labels).into_iter().map(|to| to.receiver.clone()).collect(),
                None => vec![BLACKHOLE.to_owned()],
            };
            let (indexes, stored): (Vec<usize>, Vec<StoredAlert>) =
                stored.into_iter().filter(|(_, alert)| alert.is_listed(now, outage)).unzip();
            let listed = router::list_alerts(&stored, (own, expressions), now, outage, receivers);
            alerts.extend(indexes.into_iter().zip(listed).map(|(index, alert)| (index, (key.0, alert))));
        }
        alerts.sort_unstable_by_key(|(index, _)| *index);
        alerts.into_iter().map(|(_, alert)| alert).collect()
    };
    if has_silences {
        return judging::by_person(service, reader(&query.within), list).await;
    }
    Ok(list(service.state.judging.expressions()))
}

/// The organization for whose readers a list is made.
fn reader(within: &OrganizationsRead) -> OrgId {
    match within.scope {
        Scope::Subtree { root, .. } => root,
        Scope::Organization(id) => id,
        Scope::Everything | Scope::SelfOnly(_) | Scope::Nothing => OrgId(Uuid::nil()),
    }
}

/// One active alert of a tenant.
pub(super) async fn active_alert(
    service: &Alerts,
    tenant: OrgId,
    fingerprint: &str,
) -> Result<Option<ActiveAlert>> {
    let query = AlertQuery {
        filter: ActiveFilter { fingerprint: Some(fingerprint.to_owned()), ..ActiveFilter::default() },
        order: ActiveOrder::default(),
        direction: SortDirection::Desc,
        page: PageRequest { page: 1, page_size: 1 },
        with_receivers: true,
    };
    let within = OrganizationsRead::all(Scope::Organization(tenant));
    let request = query.page;
    let Some((parsed, states)) = prepared(service, within, query).await? else { return Ok(None) };
    Ok(page(service, &parsed, &states, (request, true)).await?.into_iter().next())
}

/// A page of groups of the active alerts of these organizations.
pub(super) async fn groups(
    service: &Alerts,
    within: OrganizationsRead,
    query: AlertQuery,
    group_by: GroupBy,
) -> Result<Page<Group>> {
    let request = query.page;
    let (rows, total) = match prepared(service, within, query).await? {
        Some((parsed, states)) => parsed.groups(&service.platform.db, &states, group_by, request).await?,
        None => (Vec::new(), 0),
    };
    Ok(Page { rows, total, request })
}

/// The names of the active alerts of these organizations, the first 100 in order.
pub(super) async fn active_names(service: &Alerts, within: OrganizationsRead) -> Result<Vec<String>> {
    let query = live(service, within);
    cached_figures::figure(
        service,
        "names of alerts",
        &query,
        query.names(&service.platform.db, PageRequest::MAX_SIZE),
    )
    .await
}

/// The routing of these tenants. A tenant whose routing cannot be read has none: none of its recipients is notified or
/// shown.
async fn trees_of(service: &Alerts, tenants: BTreeSet<OrgId>) -> Result<HashMap<OrgId, Tree>> {
    let tenants: Vec<OrgId> = tenants.into_iter().collect();
    let plans = match config::plans(service, &tenants).await {
        Err(Error::Internal(e)) => {
            tracing::error!(error = %e, "the receivers of alerts cannot be shown");
            HashMap::new()
        }
        plans => plans?,
    };
    Ok(plans.iter().filter_map(|(id, plan)| Some((*id, Tree::new(&plan.route).ok()?))).collect())
}

/// The rows that silences suppress.
pub(super) async fn suppressed_rows(service: &Alerts, query: &ActiveQuery) -> Result<Vec<i64>> {
    let query = ActiveQuery { is_suppressed: None, ..query.clone() };
    let (mut suppressed, mut after) = (Vec::new(), i64::MIN);
    loop {
        let rows = query.of_silenced_systems(&service.platform.db, after).await?;
        let Some(last) = rows.last().map(|row| row.0) else { return Ok(suppressed) };
        let is_end = rows.len() < JUDGED;
        suppressed.extend(suppressed_of(service, reader(&query.within), rows).await?);
        if is_end {
            return Ok(suppressed);
        }
        after = last;
    }
}

async fn suppressed_of(
    service: &Alerts,
    reader: OrgId,
    rows: Vec<(i64, Uuid, String, String)>,
) -> Result<Vec<i64>> {
    let systems: BTreeSet<(OrgId, String)> =
        rows.iter().map(|(_, organization, key, _)| (OrgId(*organization), key.clone())).collect();
    let silences = silences_of(service, systems.into_iter().collect()).await?;
    let judge = move |expressions: &Expressions| {
        let mut of_systems: HashMap<(OrgId, String), Vec<(i64, Labels)>> = HashMap::new();
        for (id, organization, key, labels) in rows {
            let labels = embedded::read::<Labels>(&labels).unwrap_or_default();
            of_systems.entry((OrgId(organization), key)).or_default().push((id, labels));
        }
        let mut suppressed = Vec::new();
        for (system, rows) in &of_systems {
            let Some(own) = silences.get(system) else { continue };
            let sets: Vec<&Labels> = rows.iter().map(|(_, labels)| labels).collect();
            let silenced = is_silenced(&sets, own, expressions);
            suppressed.extend(rows.iter().zip(silenced).filter(|(_, is)| *is).map(|((id, _), _)| *id));
        }
        suppressed.sort_unstable();
        suppressed
    };
    judging::by_person(service, reader, judge).await
}

/// The silences in force of these systems, ready to be applied.
async fn silences_of(
    service: &Alerts,
    systems: Vec<(OrgId, String)>,
) -> Result<HashMap<(OrgId, String), Vec<ActiveSilence>>> {
    let now_ts = service.platform.now();
    let now = Nanos::from_ts(now_ts);
    let mut found: HashMap<(OrgId, String), Vec<ActiveSilence>> = HashMap::new();
    // Even if some systems have very large silences, those of the others are read.
    let mut waiting: Vec<&[(OrgId, String)]> = systems.chunks(SYSTEMS).collect();
    while let Some(some) = waiting.pop() {
        let read = match active::silences_of(&service.platform.db, some, now_ts).await {
            Err(StoreError::TooHeavy) if some.len() > 1 => {
                waiting.extend(<[_; 2]>::from(some.split_at(some.len() / 2)));
                continue;
            }
            read => read?,
        };
        for (organization, key, payload) in read {
            let stored = embedded::read::<StoredSilence>(&payload).map(|s| s.listed(now));
            let in_force = active_silences(stored.as_ref());
            found.entry((organization, key)).or_default().extend(in_force);
        }
    }
    Ok(found)
}

/// The silences of a system.
pub(super) async fn silences_of_system(
    service: &Alerts,
    tenant: OrgId,
    system_key: &str,
) -> Result<Vec<ListedSilence>> {
    let now = service.platform.now();
    let stored = rows::silences_of_system(&service.platform.db, tenant, system_key, now).await?;
    let read = stored.iter().filter_map(|payload| embedded::read::<StoredSilence>(payload));
    Ok(read.map(|s| s.listed(Nanos::from_ts(now))).collect())
}

/// The silences of the systems of these organizations; `system_keys`: only of these. `with_ended`: also those that are
/// over, the last that ended, as far as there is room.
pub(super) async fn silences(
    service: &Alerts,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
    with_ended: bool,
) -> Result<FoundSilences> {
    let now = service.platform.now();
    let (mut silences, is_cut) = silences_ending(service, within, system_keys, Ending::After(now)).await?;
    if with_ended && !is_cut {
        silences.extend(silences_ending(service, within, system_keys, Ending::Until(now)).await?.0);
        silences.truncate(SHOWN);
    }
    Ok(FoundSilences { silences, warnings: Vec::new(), is_cut })
}

/// The first silences, and whether there are more.
async fn silences_ending(
    service: &Alerts,
    within: &OrganizationsRead,
    system_keys: Option<&[String]>,
    ending: Ending,
) -> Result<(Vec<FoundSilence>, bool)> {
    let now = Nanos::from_ts(service.platform.now());
    let mut limit = SHOWN as u64 + 1;
    let rows = loop {
        match stored_silences::silences(&service.platform.db, within, system_keys, ending, limit).await {
            // Shorter pages, rather than an error because a few systems have written large silences.
            Err(StoreError::TooHeavy) if limit > 1 => limit = limit.div_ceil(4),
            rows => break rows?,
        }
    };
    let is_cut = rows.len() as u64 == limit;
    let read = rows.into_iter().filter_map(|(organization_id, system_key, payload)| {
        let silence = embedded::read::<StoredSilence>(&payload)?.listed(now);
        Some(FoundSilence { organization_id, system_key, silence })
    });
    Ok((read.take(SHOWN).collect(), is_cut))
}

/// The organization of a silence, if it is one of these.
pub(super) async fn tenant_of_silence(
    service: &Alerts,
    within: &OrganizationsRead,
    id: Uuid,
) -> Result<Option<OrgId>> {
    Ok(stored_silences::tenant_of_silence(&service.platform.db, within, id).await?)
}
