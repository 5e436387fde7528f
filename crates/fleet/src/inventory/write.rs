//! Writes plans: the documents of many systems in one transaction, each with everything that follows from it.

use super::{
    plan::{Base, Plan},
    worker::Failure,
};
use crate::{
    Fleet,
    applications::{self, ReportedApplications},
};
use bailiwick_domain::{EventTopic, Happening, SystemId, Ts};
use bailiwick_inventory::{Change, ChangeKind, Facts, Severity};
use bailiwick_store::{
    Tx,
    epoch::AffectedSystems,
    events::{self, About, NewEvent},
    heartbeats,
    inventory::{self, Claimed, NewRecord, Sender, alerts, diffs},
    systems,
};
use serde_json::json;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes stored by one statement.
const DIFFS_AT_ONCE: usize = 1000;

/// A new record and its differences.
struct Made {
    system: SystemId,
    id: i64,
    changes: Vec<Change>,
}

/// Writes the plans in one transaction, all or nothing; plans whose entries another process has claimed are left out.
/// All effects of an entry are written with its removal, so a repeated call has no further effect. Returns the entries
/// of systems that have got another latest record since they were planned: they must be planned again.
pub async fn write(service: &Fleet, claimed_until: Ts, plans: Vec<Plan>) -> Result<Vec<Claimed>, Failure> {
    let ids: Vec<i64> = plans.iter().flat_map(|plan| &plan.steps).map(|step| step.claimed.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let now = service.platform.now();
    let mut tx = service.platform.db.begin_relaxed().await?;
    let held = inventory::hold_all(&mut tx, claimed_until, &ids).await?;
    let systems: Vec<SystemId> = plans.iter().map(|plan| plan.system).collect();
    let senders = inventory::hold_senders(&mut tx, &systems).await?;
    let senders: HashMap<SystemId, Sender> = senders.into_iter().map(|sender| (sender.id, sender)).collect();
    let (mut done, mut live, mut stale) = (Vec::new(), Vec::new(), Vec::new());
    for plan in plans {
        let Some(sender) = senders.get(&plan.system) else { continue };
        let is_ours = plan.steps.iter().all(|step| held.contains(&step.claimed.id));
        if !is_ours {
            continue;
        }
        if sender.latest_id != plan.latest {
            stale.extend(plan.steps.into_iter().map(|step| step.claimed));
            continue;
        }
        done.extend(plan.steps.iter().map(|step| step.claimed.id));
        // Documents of a system that was deleted meanwhile are dropped.
        if !sender.is_deleted {
            live.push(plan);
        }
    }
    if done.is_empty() {
        return Ok(stale);
    }
    let reported = live.iter_mut().map(|plan| take_applications(plan, &senders)).collect();
    let facts: Vec<(SystemId, Facts)> =
        live.iter_mut().map(|plan| (plan.system, std::mem::take(&mut plan.facts))).collect();
    let made = records(&mut tx, live, now).await?;
    write_events(&mut tx, &made, now).await?;
    differences(&mut tx, made, now).await?;
    applications::take_over(service, &mut tx, reported, now).await?;
    columns(&mut tx, &senders, facts, now).await?;
    inventory::remove(&mut tx, &done).await?;
    tx.commit().await?;
    Ok(stale)
}

/// The applications in the documents of a plan, with the name the system has after them.
fn take_applications(
    plan: &mut Plan,
    senders: &HashMap<SystemId, Sender>,
) -> (SystemId, String, Vec<ReportedApplications>) {
    let stored_fqdn = senders.get(&plan.system).map(|sender| sender.facts.1.clone());
    let fqdn = plan.facts.fqdn.clone().or(stored_fqdn).unwrap_or_default();
    (plan.system, fqdn, std::mem::take(&mut plan.reported))
}

/// A step of a system that becomes a record: the base of its body, and the step's position.
struct Pending {
    record: NewRecord,
    changes: Vec<Change>,
}

/// What one step of a plan comes to.
struct Planned {
    system: SystemId,
    /// The latest record of the system before the plan.
    before: Option<i64>,
    received_at: Ts,
    /// A record to make; none for a text that came again.
    pending: Option<Pending>,
}

/// Writes bases, records and the facts of the systems' latest ones. Returns the records with the one before each.
async fn records(tx: &mut Tx, plans: Vec<Plan>, now: Ts) -> Result<Vec<(Option<i64>, Made, Ts)>, Failure> {
    let mut line = planned(tx, plans, now).await?;
    let new = line.iter_mut().filter_map(|planned| planned.pending.as_mut()).map(|pending| {
        let body = std::mem::take(&mut pending.record.body);
        NewRecord { body, ..pending.record.clone() }
    });
    let new: Vec<NewRecord> = new.collect();
    let ids = inventory::add_records(tx, new).await?;
    let Chain { made, again, latest } = Chain::of(line, ids)?;
    // All writers lock these rows in the same order, so that no deadlock arises.
    let mut again: Vec<(i64, Ts)> = again.into_iter().collect();
    again.sort_unstable();
    inventory::touch(tx, &again, now).await?;
    let mut notes: Vec<(SystemId, Ts, i64)> =
        latest.into_iter().map(|(id, (at, record))| (id, at, record)).collect();
    notes.sort_unstable();
    heartbeats::note_inventory(tx, &notes).await?;
    Ok(made)
}

/// Writes the bases of the plans. Returns the steps of all plans in one list.
async fn planned(tx: &mut Tx, plans: Vec<Plan>, now: Ts) -> Result<Vec<Planned>, Failure> {
    let mut line: Vec<Planned> = Vec::new();
    for plan in plans {
        let mut bases = Vec::with_capacity(plan.bases.len());
        for (size, body) in plan.bases {
            bases.push(inventory::add_base(tx, plan.system, size, body).await?);
        }
        for step in plan.steps {
            let pending = step.new.map(|new| {
                if new.diff.dropped > 0 {
                    tracing::info!(system = %plan.system, dropped = new.diff.dropped, "more changes than are kept");
                }
                let base_id = match new.base {
                    Base::Stored(id) => id,
                    Base::Planned(index) => bases.get(index).copied().unwrap_or_default(),
                };
                let record = NewRecord {
                    system_id: plan.system,
                    received_at: step.claimed.received_at,
                    body: new.body,
                    base_id,
                    data_hash: step.claimed.data_hash.clone(),
                    data_size: step.claimed.data_size,
                    change_count: i64::try_from(new.diff.changes.len()).unwrap_or(i64::MAX),
                    now,
                };
                Pending { record, changes: new.diff.changes }
            });
            line.push(Planned {
                system: plan.system,
                before: plan.latest,
                received_at: step.claimed.received_at,
                pending,
            });
        }
    }
    Ok(line)
}

/// The records that follow from the steps.
#[derive(Default)]
struct Chain {
    /// New records, each with the one before it and its receipt.
    made: Vec<(Option<i64>, Made, Ts)>,
    /// Records whose text came again, with its newest receipt.
    again: HashMap<i64, Ts>,
    /// The newest receipt and the latest record of each system.
    latest: HashMap<SystemId, (Ts, i64)>,
}

impl Chain {
    /// `ids` are those of the new records, in the order of the steps.
    fn of(line: Vec<Planned>, ids: Vec<i64>) -> Result<Chain, Failure> {
        let mut ids = ids.into_iter();
        let mut chain = Chain::default();
        for Planned { system, before, received_at, pending } in line {
            let previous = chain.latest.get(&system).map(|latest| latest.1).or(before);
            let id = match (pending, previous) {
                (Some(pending), _) => {
                    let id = ids.next().ok_or_else(|| Failure::Failed("a record has no id".into()))?;
                    chain.made.push((previous, Made { system, id, changes: pending.changes }, received_at));
                    id
                }
                (None, Some(id)) => {
                    let newest = chain.again.entry(id).or_insert(received_at);
                    *newest = received_at.max(*newest);
                    id
                }
                (None, None) => {
                    return Err(Failure::Failed("a repeated document has no earlier record".into()));
                }
            };
            let latest = chain.latest.entry(system).or_insert((received_at, id));
            *latest = (received_at.max(latest.0), id);
        }
        Ok(chain)
    }
}

/// An event for each record that differs from the one before it.
async fn write_events(tx: &mut Tx, made: &[(Option<i64>, Made, Ts)], now: Ts) -> Result<(), Failure> {
    let differing = made.iter().filter(|(previous, made, _)| previous.is_some() && !made.changes.is_empty());
    let events: Vec<NewEvent> = differing
        .map(|(previous, made, received_at)| {
            let mut severities: BTreeMap<&str, u64> = BTreeMap::new();
            let mut categories: BTreeMap<&str, u64> = BTreeMap::new();
            for change in &made.changes {
                *severities.entry(change.severity.word()).or_default() += 1;
                *categories.entry(change.category.word()).or_default() += 1;
            }
            NewEvent {
                at: now,
                kind: EventTopic::Inventory.kind(Happening::Changed),
                organization: None,
                about: About::System(made.system),
                object_id: made.system.to_string(),
                subject: Some(format!("/systems/{}/inventory/diffs", made.system)),
                data: json!({
                    "inventory_id": made.id, "previous_inventory_id": previous, "received_at": received_at,
                    "changes": made.changes.len(), "severities": severities, "categories": categories,
                }),
            }
        })
        .collect();
    Ok(events::write(tx, &events).await?)
}

/// Stores the differences, and the alerts that follow from them.
async fn differences(tx: &mut Tx, made: Vec<(Option<i64>, Made, Ts)>, now: Ts) -> Result<(), Failure> {
    let mut new = Vec::new();
    for (previous, made, record_at) in &made {
        let Some(previous_id) = *previous else { continue };
        new.extend(made.changes.iter().map(|change| diffs::NewDiff {
            system_id: made.system,
            previous_id,
            current_id: made.id,
            record_at: *record_at,
            kind: change.kind as i64,
            severity: change.severity as i64,
            category: change.category.word(),
            field_path: change.field_path.clone(),
            previous: change.previous.clone(),
            current: change.current.clone(),
            created_at: now,
        }));
    }
    let mut ids = Vec::with_capacity(new.len());
    while !new.is_empty() {
        let rest = new.split_off(new.len().min(DIFFS_AT_ONCE));
        ids.extend(diffs::add(tx, new).await?);
        new = rest;
    }
    let mut first = 0;
    for (_, made, _) in &made {
        if !made.changes.is_empty() {
            let id = ids.get(first).copied().ok_or_else(|| Failure::Failed("a change has no id".into()))?;
            alert(tx, made, id, now).await?;
            first += made.changes.len();
        }
    }
    Ok(())
}

/// Ends alerts about elements that are present again, and raises one when the worst change is critical (spec:
/// inventory#inventory-alerts).
async fn alert(tx: &mut Tx, made: &Made, first_diff: i64, now: Ts) -> Result<(), Failure> {
    let created: HashSet<(&str, &str)> = made
        .changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Create)
        .map(|change| (change.structural_path.as_str(), change.field_path.as_str()))
        .collect();
    if !created.is_empty() {
        for (id, structural, field) in alerts::open(tx, made.system).await? {
            if created.contains(&(structural.as_str(), field.as_str())) {
                alerts::resolve(tx, id, now).await?;
            }
        }
    }
    // The worst comes first.
    if let Some(worst) = made.changes.first().filter(|change| change.severity == Severity::Critical) {
        let what = match worst.kind {
            ChangeKind::Delete => "removed",
            ChangeKind::Update => "changed",
            ChangeKind::Create => "added",
        };
        let new = alerts::NewAlert {
            system_id: made.system,
            diff_id: first_diff,
            record_id: made.id,
            message: format!("Critical change ({}): {} {what}", worst.category.word(), worst.field_path),
            structural_path: &worst.structural_path,
            field_path: &worst.field_path,
            now,
        };
        alerts::add(tx, new).await?;
    }
    Ok(())
}

/// The columns of systems that have changed (spec: inventory#system-columns).
async fn columns(
    tx: &mut Tx,
    senders: &HashMap<SystemId, Sender>,
    facts: Vec<(SystemId, Facts)>,
    now: Ts,
) -> Result<(), Failure> {
    let mut changed = Vec::new();
    for (id, facts) in facts {
        if !senders.get(&id).is_some_and(|sender| has_new_facts(sender, &facts)) {
            continue;
        }
        // The senders are held already. A stronger lock would let incoming documents of the system wait.
        let Some(found) = systems::get(&mut *tx, id).await? else { continue };
        let mut system = found.system;
        system.system_type = facts.system_type.or(system.system_type);
        system.fqdn = facts.fqdn.unwrap_or(system.fqdn);
        system.ipv4_address = facts.ipv4.map_or(system.ipv4_address, |address| address.to_string());
        system.ipv6_address = facts.ipv6.map_or(system.ipv6_address, |address| address.to_string());
        system.version = facts.version.unwrap_or(system.version);
        system.updated_at = now;
        systems::set_facts(tx, &system).await?;
        changed.push(id);
    }
    if !changed.is_empty() {
        // The facts that alerts carry about a system are cached with its credential.
        tx.note_auth_epoch(AffectedSystems::Systems(changed)).await?;
    }
    Ok(())
}

fn has_new_facts(sender: &Sender, facts: &Facts) -> bool {
    let (system_type, fqdn, ipv4, ipv6, version) = &sender.facts;
    facts.system_type.is_some() && facts.system_type != *system_type
        || facts.fqdn.as_ref().is_some_and(|reported| reported != fqdn)
        || facts.ipv4.is_some_and(|reported| reported.to_string() != *ipv4)
        || facts.ipv6.is_some_and(|reported| reported.to_string() != *ipv6)
        || facts.version.as_ref().is_some_and(|reported| reported != version)
}
