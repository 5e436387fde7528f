//! Lists with statuses and another filter or search: all their ids, in order, found once.
//!
//! Results found by heartbeats would never last, because a heartbeat changes no row of a list. Results found by the
//! counted status do ([`counted`]): the ids stay valid until a system changes or is counted as something else. For each
//! page, the few unsettled systems are taken out of them, judged by their heartbeats, and put back in their places.

use super::{Known, Spec, SystemFilter, SystemOrder, Walk, is_lasting};
use crate::{
    Db, ListEpochs, StoreError,
    filters::expand,
    matches::{Matches, ids_to_bytes},
    sql::Q,
    systems::{
        SystemRecord,
        filter::{StatusFilter, condition, distinct},
        stats::covers,
        status_counts::{ACTIVE, MOST_UNSETTLED, SILENT, UNHEARD, are_few},
    },
    time::TsCodec,
};
use bailiwick_domain::{OrgId, OrgType, Page, PageRequest, SortDirection, SystemStatus, Ts};
use bailiwick_policy::Scope;
use std::collections::HashSet;
use uuid::Uuid;

/// The most ids that are kept for one list. A page of a longer list is found among the rows without passing over many.
const MOST: usize = 50_000;
/// The result of [`Ranked::to_bytes`] for too many: no number of ids has this length.
const TOO_MANY: [u8; 1] = [0];

/// The systems that a list shows by their counted status, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// All of them.
    Ids(Vec<Uuid>),
    /// Too many to keep.
    TooMany,
}

impl Ranked {
    /// For [`Ranked::from_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Ranked::Ids(ids) => ids_to_bytes(ids),
            Ranked::TooMany => TOO_MANY.to_vec(),
        }
    }

    /// Reads the result of [`Ranked::to_bytes`]; too many for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Ranked {
        match bytes.as_chunks() {
            (ids, []) => Ranked::Ids(ids.iter().map(|id| Uuid::from_bytes(*id)).collect()),
            _ => Ranked::TooMany,
        }
    }
}

/// The unsettled systems at one moment; empty when they are too many, so that a list shows all systems by their counted status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsettled {
    /// All of them.
    pub(super) all: HashSet<Uuid>,
    /// Those that the list shows.
    pub(super) shown: Vec<Uuid>,
}

/// Whether [`ranked`] and [`unsettled`] find this list: its scope is large, heartbeats and marks decide its statuses,
/// and one order applies to all of them.
pub fn is_ranked(scope: &Scope, filter: &SystemFilter, order: SystemOrder) -> bool {
    let statuses = distinct(filter.statuses.as_deref().unwrap_or_default());
    let is_told = |s: &StatusFilter| matches!(s, StatusFilter::Is(s) if *s != SystemStatus::Deleted);
    matches!(scope, Scope::Everything | Scope::Subtree { .. })
        && !statuses.is_empty()
        && statuses.iter().all(is_told)
        && (order != SystemOrder::Status || statuses.len() == 1)
        && is_lasting(filter)
}

/// The ids of a list that [`is_ranked`], by the counted status of systems. They change with the epochs of people,
/// figures, systems and statuses. `matches`: the matches of the filter, where they are known.
///
/// # Errors
/// The database's.
pub async fn ranked(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    order: SystemOrder,
    matches: Option<&Matches>,
) -> Result<Ranked, StoreError> {
    let statuses = distinct(filter.statuses.as_deref().unwrap_or_default());
    let filter = SystemFilter { statuses: None, ..filter.clone() };
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let (direction, known) = (SortDirection::Asc, Known { matches, ..Known::default() });
    let spec =
        Spec { db, scope, filter: &filter, expanded: &expanded, order, direction, cutoff: Ts(0), known };
    let mut q = Q::new("SELECT s.id FROM systems s");
    if spec.few().is_none() {
        q.push(spec.by_search());
    }
    spec.push_counted(&mut q, &statuses);
    // The found ids are sorted: otherwise SQLite would look for them in the order of the rows.
    spec.push_order(&mut q, direction, "[[||+]]");
    q.push(" LIMIT ?").arg(MOST as u64 + 1);
    let ids: Vec<(Uuid,)> = q.all(db).await?;
    Ok(match ids.len() {
        0..=MOST => Ranked::Ids(ids.into_iter().map(|(id,)| id).collect()),
        _ => Ranked::TooMany,
    })
}

/// How many systems such a list has by their counted status, in every order; as valid as the result of [`ranked`].
///
/// # Errors
/// The database's.
pub async fn ranked_number(db: &Db, scope: &Scope, filter: &SystemFilter) -> Result<u64, StoreError> {
    let statuses = distinct(filter.statuses.as_deref().unwrap_or_default());
    let filter = SystemFilter { statuses: None, ..filter.clone() };
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::unordered_of(db, scope, &filter, &expanded, Ts(0));
    let mut q = Q::new("SELECT CAST(COUNT(*) AS BIGINT) FROM systems s");
    q.push(spec.by_search());
    spec.push_counted(&mut q, &statuses);
    q.count(db).await
}

/// How many unsettled systems a list that [`is_ranked`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsettledNumbers {
    /// By their counted status.
    pub counted: u64,
    /// As it shows them.
    pub shown: u64,
}

/// The same systems as those of [`unsettled`], without their ids, and the epochs of that moment. None also while they are
/// too many.
///
/// # Errors
/// The database's.
pub async fn unsettled_numbers(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    cutoff: Ts,
) -> Result<Option<(ListEpochs, UnsettledNumbers)>, StoreError> {
    type Found = (i64, i64, i64, i64, Option<TsCodec>, Option<TsCodec>, i64, i64, i64);
    let statuses = distinct(filter.statuses.as_deref().unwrap_or_default());
    let lasting = SystemFilter { statuses: None, ..filter.clone() };
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let mut q = Q::new(
        "SELECT e.people, e.figures, e.systems, e.statuses, m.silent_to, m.watched_to, n.unsettled, n.counted, n.shown \
         FROM list_epochs e JOIN system_figures m ON m.id = 1 CROSS JOIN (SELECT CAST(COUNT(*) AS BIGINT) AS unsettled, \
         CAST(COUNT((SELECT 1 FROM systems s",
    );
    Spec::unordered_of(db, scope, &lasting, &expanded, cutoff).push_counted(&mut q, &statuses);
    q.push(" AND s.id = w.system_id)) AS BIGINT) AS counted, CAST(COUNT((SELECT 1 FROM systems s");
    Spec::unordered_of(db, scope, filter, &expanded, cutoff).push_where(&mut q, None, None);
    q.push(
        " AND s.id = w.system_id)) AS BIGINT) AS shown FROM (SELECT u.system_id FROM system_unsettled u LIMIT ?) w) n \
         WHERE e.id = 1",
    );
    let row: Found = q.bind(MOST_UNSETTLED + 1).one(db).await?;
    let (people, figures, systems, statuses, silent_to, watched_to, unsettled, counted, shown) = row;
    if !covers((silent_to, watched_to), cutoff) || !are_few(unsettled) {
        return Ok(None);
    }
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let epochs = ListEpochs { people, figures, systems, statuses, ..ListEpochs::default() };
    Ok(Some((epochs, UnsettledNumbers { counted: count(counted), shown: count(shown) })))
}

/// The condition of a status by the counted status of a system; the system is not deleted.
fn counted_as(status: StatusFilter) -> String {
    let counted = match status {
        StatusFilter::Is(SystemStatus::Active) => ACTIVE,
        StatusFilter::Is(SystemStatus::Inactive) => SILENT,
        StatusFilter::Is(SystemStatus::Unknown) => UNHEARD,
        _ => return condition(status, true),
    };
    let suspended = condition(StatusFilter::Is(SystemStatus::Suspended), true);
    format!("NOT {suspended} AND COALESCE(a.counted, 0) = {counted}")
}

/// The unsettled systems, and the epochs of that moment. None where the counted statuses are for another time
/// ([`status_counts`](crate::systems::status_counts)).
///
/// # Errors
/// The database's.
pub async fn unsettled(
    db: &Db,
    scope: &Scope,
    filter: &SystemFilter,
    cutoff: Ts,
) -> Result<Option<(ListEpochs, Unsettled)>, StoreError> {
    type Found = (i64, i64, i64, i64, Option<TsCodec>, Option<TsCodec>, Option<Uuid>, i64);
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec::unordered_of(db, scope, filter, &expanded, cutoff);
    // One lookup for each, whatever the engine estimates about their number.
    let mut q = Q::new(
        "SELECT e.people, e.figures, e.systems, e.statuses, m.silent_to, m.watched_to, w.system_id, \
         CAST(COALESCE((SELECT 1 FROM systems s",
    );
    spec.push_where(&mut q, None, None);
    q.push(
        " AND s.id = w.system_id), 0) AS BIGINT) FROM list_epochs e JOIN system_figures m ON m.id = 1 \
         LEFT JOIN (SELECT u.system_id FROM system_unsettled u LIMIT ?) w ON 1 = 1 WHERE e.id = 1",
    );
    q.arg(MOST_UNSETTLED + 1);
    let rows: Vec<Found> = q.all(db).await?;
    let (mut unsettled, mut epochs) = (Unsettled::default(), None);
    for (people, figures, systems, statuses, silent_to, watched_to, id, is_shown) in rows {
        if !covers((silent_to, watched_to), cutoff) {
            return Ok(None);
        }
        epochs = Some(ListEpochs { people, figures, systems, statuses, ..ListEpochs::default() });
        unsettled.all.extend(id);
        unsettled.shown.extend(id.filter(|_| is_shown == 1));
    }
    if !are_few(unsettled.all.len() as i64) {
        unsettled = Unsettled::default();
    }
    Ok(epochs.map(|epochs| (epochs, unsettled)))
}

/// A page of a [`ranked`] list, as of the moment of `unsettled`.
///
/// # Errors
/// The database's.
pub async fn ranked_page(
    db: &Db,
    ranked: &[Uuid],
    unsettled: Unsettled,
    (order, direction): (SystemOrder, SortDirection),
    request: PageRequest,
) -> Result<Page<SystemRecord>, StoreError> {
    let Unsettled { all, shown } = unsettled;
    let mut ids: Vec<Uuid> = ranked.iter().copied().filter(|id| !all.contains(id)).collect();
    let total = (ids.len() + shown.len()) as u64;
    if request.offset() >= total {
        return Ok(Page { rows: Vec::new(), total, request });
    }
    if direction == SortDirection::Desc {
        ids.reverse();
    }
    // Each of the others moves back by at most this many rows.
    let (offset, more) = (request.offset(), shown.len() as u64);
    let (from, end) = (offset.saturating_sub(more), offset.saturating_add(request.page_size));
    let nth = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut near: Vec<Uuid> = ids.into_iter().take(nth(end)).skip(nth(from)).collect();
    near.extend(shown);
    let spec = Spec {
        db,
        scope: &Scope::Everything,
        filter: &SystemFilter::default(),
        expanded: &[],
        order,
        direction,
        cutoff: Ts(0),
        known: Known::default(),
    };
    let walk = Walk { direction, offset: offset - from, limit: request.page_size };
    let mut q = Q::new("SELECT s.id AS page_id FROM systems s");
    spec.push_ordered_by(&mut q);
    q.push(" WHERE ").one_of(db, "s.id", &near);
    spec.push_order(&mut q, direction, "[[||+]]");
    q.push(" LIMIT ? OFFSET ?").arg(walk.limit).arg(walk.offset);
    let rows = spec.read(db, (q, walk)).await?;
    let rows = rows.into_iter().map(SystemRecord::try_from).collect::<Result<Vec<_>, _>>()?;
    Ok(Page { rows, total, request })
}

impl<'a> Spec<'a> {
    /// A list whose order does not matter.
    fn unordered_of(
        db: &'a Db,
        scope: &'a Scope,
        filter: &'a SystemFilter,
        expanded: &'a [(OrgId, OrgType)],
        cutoff: Ts,
    ) -> Self {
        let (order, direction) = (SystemOrder::CreatedAt, SortDirection::Asc);
        Spec { db, scope, filter, expanded, order, direction, cutoff, known: Known::default() }
    }

    /// Appends the rest of FROM, behind `systems s`, and WHERE of the systems that are counted as one of these statuses;
    /// the filter has none.
    fn push_counted(&self, q: &mut Q, statuses: &[StatusFilter]) {
        self.push_ordered_by(q);
        q.push(" LEFT JOIN system_activity a ON a.system_id = s.id");
        self.push_where(q, None, None);
        for (i, status) in statuses.iter().enumerate() {
            q.push(if i == 0 { " AND ((" } else { ") OR (" }).push(&counted_as(*status));
        }
        q.push("))");
    }

    /// Appends the organizations, behind `systems s`, where the order is theirs.
    pub(super) fn push_ordered_by(&self, q: &mut Q) {
        if self.is_by_organization(None) {
            q.push(" JOIN organizations o ON o.id = s.organization_id");
        }
    }
}
