//! Stores the applications that documents list (spec: applications#intake): in the transaction of a group of documents,
//! set by set. It writes only real changes. An unchanged list costs a part of one small statement.

mod surplus;

use super::counts::{self, Tally};
use crate::{
    StoreError, Tx,
    events::{self, About, NewEvent},
    sql::Q,
    time::TsCodec,
};
use bailiwick_domain::{
    ApplicationId, EventTopic, Happening, OrgId, SystemId, Ts,
    fold::{fold, fold_start},
};
use serde_json::json;
use sqlx_macros::FromRow;
use std::collections::{BTreeMap, BTreeSet};
use surplus::Surplus;
use uuid::Uuid;

const HOSTS: &str = "SELECT s.id, s.organization_id, s.p2, s.p3, s.name, t.seen_at, t.digest FROM systems s \
     LEFT JOIN application_hosts t ON t.system_id = s.id WHERE s.deleted_at IS NULL AND s.id IN (";
const KNOWN: &str = "SELECT system_id, module_id, instance_of, name, source, display_name, node_id, node_label, version, \
     certification_level, is_user_facing, url, inventory_data, organization_id, updated_at, first_seen_at, deleted_at, \
     is_dismissed, notes FROM applications WHERE system_id IN (";

/// Most rows of one statement; they are cut into powers of two, so that there are few different texts.
const ROWS: usize = 64;
/// Most characters of a version: it is part of index keys.
const VERSION_CHARS: usize = 255;

/// An application as a document shows it. Where a column says "kept", `None` leaves the stored value.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Seen {
    /// Its key on the system; each at most once in a document.
    pub module_id: String,
    /// Module.
    pub instance_of: String,
    /// Kept.
    pub name: Option<String>,
    /// Kept.
    pub source: Option<String>,
    /// Kept.
    pub display_name: Option<String>,
    /// Node it runs on.
    pub node_id: Option<i64>,
    /// Name of that node.
    pub node_label: Option<String>,
    /// `""` = none.
    pub version: String,
    /// 0 to 5.
    pub certification_level: Option<i64>,
    /// Whether users work with it.
    pub is_user_facing: bool,
    /// Where it is administered.
    pub url: Option<String>,
    /// One JSON object.
    pub inventory_data: String,
}

impl Seen {
    fn is_certified(&self) -> bool {
        self.certification_level.is_some_and(|level| level >= 4)
    }

    /// Whether lists show it while it is not deleted (spec: applications#operations).
    fn is_listed(&self) -> bool {
        self.is_user_facing && self.is_certified()
    }
}

/// The applications a document lists.
#[derive(Clone, Debug)]
pub enum Listed {
    /// Unchanged: the text of the previous document.
    Again,
    /// Nothing; stored applications do not count as missing then.
    Nothing,
    /// These, with a digest that differs from that of any other list. At least one.
    These(Vec<Seen>, Vec<u8>),
}

/// A document of a locked system that is not individually deleted.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub system_id: SystemId,
    /// Receipt.
    pub received_at: Ts,
    /// The listed applications.
    pub listed: Listed,
}

/// Stores the applications that documents list, those of a system in order: adds new applications, writes changed ones,
/// marks missing ones as deleted, and restores those that are back. Of each system, `most` are kept.
pub async fn store_listed(
    tx: &mut Tx,
    arrivals: Vec<Arrival>,
    most: usize,
    now: Ts,
    mut fresh: impl FnMut() -> ApplicationId,
) -> Result<(), StoreError> {
    let mut hosts = hosts(tx, &arrivals).await?;
    let affected: BTreeSet<SystemId> = arrivals
        .iter()
        .filter(|a| hosts.get(&a.system_id).is_some_and(|host| host.must_look(&a.listed)))
        .map(|a| a.system_id)
        .collect();
    let mut rows = read_rows(tx, &affected).await?;
    let before = tally(&hosts, &rows);
    let mut surplus = Surplus::new();
    for arrival in arrivals {
        let Some(host) = hosts.get_mut(&arrival.system_id) else { continue };
        let of_system = rows.entry(arrival.system_id).or_default();
        host.apply(of_system, arrival.listed, Times { received_at: arrival.received_at, now });
        surplus.entry(arrival.system_id).or_default().extend(surplus::take_out(of_system, most));
    }
    surplus::remove(tx, &surplus).await?;
    note_hosts(tx, &hosts).await?;
    let after = tally(&hosts, &rows);
    let mut changed: Vec<(ApplicationId, &Host, &Row)> = Vec::new();
    for (system, rows) in &rows {
        let Some(host) = hosts.get(system) else { continue };
        changed.extend(rows.values().filter(|row| row.is_changed).map(|row| (fresh(), host, row)));
    }
    if changed.iter().any(|(_, _, row)| row.changes_search) {
        tx.application_texts_changed();
    }
    let mut ids = Ids::new();
    let mut left = changed.as_slice();
    while !left.is_empty() {
        let n = (left.len() + 1).next_power_of_two() / 2;
        let (chunk, rest) = left.split_at(n.min(ROWS));
        write(tx, chunk, &mut ids).await?;
        left = rest;
    }
    write_events(tx, &changed, &ids, now).await?;
    counts::adjust(tx, before, after).await
}

/// Writes an event for each application that is new, back, missing or changed.
async fn write_events(
    tx: &mut Tx,
    changed: &[(ApplicationId, &Host, &Row)],
    ids: &Ids,
    now: Ts,
) -> Result<(), StoreError> {
    let events = changed.iter().filter_map(|(_, host, row)| {
        let id = ids.get(&(host.id.0, row.seen.module_id.clone()))?;
        Some(NewEvent {
            at: now,
            kind: EventTopic::Application.kind(row.event?),
            organization: Some(host.home),
            about: About::System(host.id),
            object_id: id.to_string(),
            subject: Some(format!("/applications/{id}")),
            data: json!({
                "id": id, "module_id": row.seen.module_id, "instance_of": row.seen.instance_of,
                "name": row.seen.name, "version": row.seen.version,
            }),
        })
    });
    let events: Vec<NewEvent> = events.collect();
    events::write(tx, &events).await
}

/// When a document arrived and when it is processed.
#[derive(Clone, Copy)]
struct Times {
    received_at: Ts,
    now: Ts,
}

/// A system of the group.
struct Host {
    id: SystemId,
    home: OrgId,
    p2: Uuid,
    p3: Uuid,
    name_key: String,
    /// None: it has never listed anything.
    seen_at: Option<Ts>,
    digest: Option<Vec<u8>>,
    is_changed: bool,
}

#[derive(FromRow)]
struct HostRow {
    id: Uuid,
    organization_id: Uuid,
    p2: Uuid,
    p3: Uuid,
    name: String,
    seen_at: Option<TsCodec>,
    digest: Option<Vec<u8>>,
}

async fn hosts(tx: &mut Tx, arrivals: &[Arrival]) -> Result<BTreeMap<SystemId, Host>, StoreError> {
    let ids: BTreeSet<SystemId> = arrivals.iter().map(|a| a.system_id).collect();
    let mut q = Q::new(HOSTS);
    q.list(ids).push(")");
    let rows: Vec<HostRow> = q.all(tx).await?;
    let host = |r: HostRow| Host {
        id: SystemId(r.id),
        home: OrgId(r.organization_id),
        p2: r.p2,
        p3: r.p3,
        name_key: fold(&r.name),
        seen_at: r.seen_at.map(|t| t.0),
        digest: r.digest,
        is_changed: false,
    };
    Ok(rows.into_iter().map(|r| (SystemId(r.id), host(r))).collect())
}

impl Host {
    /// Whether the stored applications must be read for this.
    fn must_look(&self, listed: &Listed) -> bool {
        match listed {
            Listed::Again => self.seen_at.is_some() && self.digest.is_none(),
            Listed::Nothing => false,
            Listed::These(_, digest) => self.digest.as_ref() != Some(digest),
        }
    }

    fn lists_nothing(&self) -> bool {
        self.digest.as_ref().is_some_and(Vec::is_empty)
    }

    fn apply(&mut self, rows: &mut BTreeMap<String, Row>, listed: Listed, times: Times) {
        match listed {
            Listed::Nothing => {
                if self.seen_at.is_some() && !self.lists_nothing() {
                    (self.digest, self.is_changed) = (Some(Vec::new()), true);
                }
                return;
            }
            Listed::Again if self.seen_at.is_none() || self.lists_nothing() => return,
            Listed::Again => rows.values_mut().for_each(|row| row.restore(times.now)),
            Listed::These(_, digest) if self.digest.as_ref() == Some(&digest) => {}
            Listed::These(seen, digest) => {
                list(rows, seen, times);
                self.digest = Some(digest);
            }
        }
        self.seen_at = self.seen_at.max(Some(times.received_at));
        self.is_changed = true;
    }
}

/// An application of the group.
struct Row {
    seen: Seen,
    organization: Option<Uuid>,
    updated_at: Ts,
    first_seen_at: Ts,
    deleted_at: Option<Ts>,
    is_dismissed: bool,
    has_notes: bool,
    is_stored: bool,
    is_changed: bool,
    /// Whether a search finds it now and did not before, no longer finds it, or may find it by another text.
    changes_search: bool,
    /// Its event.
    event: Option<Happening>,
}

impl Row {
    fn restore(&mut self, now: Ts) {
        if self.is_dismissed {
            (self.is_dismissed, self.deleted_at) = (false, None);
            (self.updated_at, self.is_changed) = (now, true);
            self.changes_search |= self.seen.is_listed();
            self.event = Some(Happening::Found);
        }
    }

    /// The application was reported again. Changed figures alone do not move `updated_at`.
    fn update(&mut self, mut seen: Seen, now: Ts) {
        seen.name = seen.name.or_else(|| self.seen.name.take());
        seen.source = seen.source.or_else(|| self.seen.source.take());
        seen.display_name = seen.display_name.or_else(|| self.seen.display_name.take());
        let was = std::mem::replace(&mut self.seen, seen);
        let was = Seen {
            // Values taken over above count as unchanged.
            name: was.name.or_else(|| self.seen.name.clone()),
            source: was.source.or_else(|| self.seen.source.clone()),
            display_name: was.display_name.or_else(|| self.seen.display_name.clone()),
            ..was
        };
        let is_back = self.deleted_at.is_some();
        if !is_back && was == self.seen {
            return;
        }
        let searched = |seen: &Seen| (seen.display_name.clone(), seen.instance_of.clone(), seen.is_listed());
        self.changes_search |= match is_back {
            true => self.seen.is_listed(),
            false => (was.is_listed() || self.seen.is_listed()) && searched(&was) != searched(&self.seen),
        };
        let like_before = Seen { inventory_data: self.seen.inventory_data.clone(), ..was };
        if is_back || like_before != self.seen {
            self.updated_at = now;
            self.event = Some(if is_back { Happening::Found } else { Happening::Updated });
        }
        (self.deleted_at, self.is_dismissed, self.is_changed) = (None, false, true);
    }

    /// Missing from a document that lists others.
    fn mark_missing(&mut self, times: Times) {
        if self.deleted_at.is_none() {
            (self.deleted_at, self.updated_at) = (Some(times.received_at), times.now);
            self.is_changed = true;
            self.changes_search |= self.seen.is_listed();
            self.event = Some(Happening::Gone);
        }
        if self.is_dismissed {
            (self.is_dismissed, self.is_changed) = (false, true);
        }
    }
}

fn list(rows: &mut BTreeMap<String, Row>, seen: Vec<Seen>, times: Times) {
    let listed_ids: BTreeSet<&str> = seen.iter().map(|s| s.module_id.as_str()).collect();
    rows.iter_mut()
        .filter(|(id, _)| !listed_ids.contains(id.as_str()))
        .for_each(|(_, row)| row.mark_missing(times));
    for mut seen in seen {
        if let Some((end, _)) = seen.version.char_indices().nth(VERSION_CHARS) {
            seen.version.truncate(end);
        }
        match rows.get_mut(&seen.module_id) {
            Some(row) => row.update(seen, times.now),
            None => {
                let row = Row {
                    organization: None,
                    updated_at: times.now,
                    first_seen_at: times.received_at,
                    deleted_at: None,
                    is_dismissed: false,
                    has_notes: false,
                    is_stored: false,
                    is_changed: true,
                    changes_search: seen.is_listed(),
                    event: Some(Happening::Found),
                    seen,
                };
                rows.insert(row.seen.module_id.clone(), row);
            }
        }
    }
}

#[derive(FromRow)]
struct KnownRow {
    system_id: Uuid,
    #[sqlx(flatten)]
    seen: Seen,
    organization_id: Option<Uuid>,
    updated_at: TsCodec,
    first_seen_at: TsCodec,
    deleted_at: Option<TsCodec>,
    is_dismissed: bool,
    notes: Option<String>,
}

type Rows = BTreeMap<SystemId, BTreeMap<String, Row>>;

/// The ids of applications by system and module.
type Ids = BTreeMap<(Uuid, String), Uuid>;

async fn read_rows(tx: &mut Tx, systems: &BTreeSet<SystemId>) -> Result<Rows, StoreError> {
    let mut rows = Rows::new();
    if systems.is_empty() {
        return Ok(rows);
    }
    let mut q = Q::new(KNOWN);
    q.list(systems.iter().copied()).push(")");
    let stored: Vec<KnownRow> = q.all(tx).await?;
    for k in stored {
        let row = Row {
            organization: k.organization_id,
            updated_at: k.updated_at.0,
            first_seen_at: k.first_seen_at.0,
            deleted_at: k.deleted_at.map(|t| t.0),
            is_dismissed: k.is_dismissed,
            has_notes: k.notes.is_some(),
            is_stored: true,
            is_changed: false,
            changes_search: false,
            event: None,
            seen: k.seen,
        };
        rows.entry(SystemId(k.system_id)).or_default().insert(row.seen.module_id.clone(), row);
    }
    Ok(rows)
}

/// The contribution of these systems to the counters; none of them is individually deleted.
fn tally(hosts: &BTreeMap<SystemId, Host>, rows: &Rows) -> Tally {
    let mut tally = Tally::default();
    for (system, rows) in rows {
        let Some(host) = hosts.get(system) else { continue };
        for row in rows.values().filter(|row| row.deleted_at.is_none()) {
            let seen = &row.seen;
            if seen.is_certified() {
                let name = seen.name.as_deref().unwrap_or_default();
                let kind = (seen.instance_of.as_str(), seen.version.as_str(), name);
                tally.add(host.home, kind, row.organization.map(OrgId), seen.is_user_facing);
            }
        }
    }
    tally
}

async fn note_hosts(tx: &mut Tx, hosts: &BTreeMap<SystemId, Host>) -> Result<(), StoreError> {
    let changed: Vec<&Host> = hosts.values().filter(|host| host.is_changed).collect();
    for chunk in changed.chunks(ROWS) {
        let mut q = Q::new(
            "INSERT INTO application_hosts (system_id, home_id, p2, p3, name_key, seen_at, digest) VALUES ",
        );
        for (i, host) in chunk.iter().enumerate() {
            q.push(if i == 0 { "(?, ?, ?, ?, ?, ?, ?)" } else { ", (?, ?, ?, ?, ?, ?, ?)" });
            q.arg(host.id).arg(host.home).arg(host.p2).arg(host.p3).arg(&host.name_key);
            q.arg(host.seen_at).arg(host.digest.clone());
        }
        q.push(" ON CONFLICT (system_id) DO UPDATE SET seen_at = excluded.seen_at, digest = excluded.digest");
        q.run(&mut *tx).await?;
    }
    Ok(())
}

/// Writes these rows, and notes their ids: a known application keeps its own.
async fn write(tx: &mut Tx, rows: &[(ApplicationId, &Host, &Row)], ids: &mut Ids) -> Result<(), StoreError> {
    let mut q = Q::new(
        "INSERT INTO applications (id, system_id, home_id, p2, p3, module_id, module_key, instance_of, type_key, name, \
         source, display_name, display_key, node_id, node_label, version, certification_level, is_user_facing, url, \
         inventory_data, search_key, created_at, updated_at, first_seen_at, deleted_at, is_dismissed) VALUES ",
    );
    for (i, (id, host, row)) in rows.iter().enumerate() {
        let seen = &row.seen;
        q.push(if i == 0 { "(?" } else { ", (?" }).push(&", ?".repeat(25)).push(")");
        q.arg(*id).arg(host.id).arg(host.home).arg(host.p2).arg(host.p3);
        q.arg(&seen.module_id)
            .arg(fold_start(&seen.module_id))
            .arg(&seen.instance_of)
            .arg(fold_start(&seen.instance_of));
        q.arg(seen.name.as_deref()).arg(seen.source.as_deref()).arg(seen.display_name.as_deref());
        q.arg(fold_start(seen.display_name.as_deref().unwrap_or(&seen.module_id)));
        q.arg(seen.node_id).arg(seen.node_label.as_deref()).arg(&seen.version).arg(seen.certification_level);
        q.arg(seen.is_user_facing).arg(seen.url.as_deref()).arg(&seen.inventory_data).arg(search_key(seen));
        q.arg(row.first_seen_at).arg(row.updated_at).arg(row.first_seen_at);
        q.arg(row.deleted_at).arg(row.is_dismissed);
    }
    q.push(
        " ON CONFLICT (system_id, module_id) DO UPDATE SET instance_of = excluded.instance_of, \
         type_key = excluded.type_key, name = excluded.name, source = excluded.source, \
         display_name = excluded.display_name, display_key = excluded.display_key, node_id = excluded.node_id, \
         node_label = excluded.node_label, version = excluded.version, \
         certification_level = excluded.certification_level, is_user_facing = excluded.is_user_facing, \
         url = excluded.url, inventory_data = excluded.inventory_data, search_key = excluded.search_key, \
         updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, is_dismissed = excluded.is_dismissed \
         RETURNING id, system_id, module_id",
    );
    let written: Vec<(Uuid, Uuid, String)> = q.all(tx).await?;
    ids.extend(written.into_iter().map(|(id, system, module)| ((system, module), id)));
    Ok(())
}

/// The texts that `search` compares, apart from the system's name (spec: applications#operations).
pub(crate) fn search_key(seen: &Seen) -> String {
    let display = seen.display_name.as_deref().unwrap_or_default();
    let mut text = fold(&seen.module_id);
    for part in [display, seen.instance_of.as_str()] {
        text.push(crate::filters::SEPARATOR);
        text.push_str(&fold(part));
    }
    text
}
