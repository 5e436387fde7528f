//! The matches of a filter among the systems of a scope: found once, and valid until a system changes.

use super::{Known, Spec, SystemFilter, SystemOrder};
use crate::{
    Db, StoreError,
    filters::expand,
    sql::Q,
    systems::filter::{StatusFilter, statuses_with},
};
use bailiwick_domain::{SortDirection, SystemStatus, Ts};
use bailiwick_policy::Scope;
use uuid::Uuid;

/// Up to this many are sorted for less than it costs to find a page of them among all.
const FEW: usize = 2_000;

/// The matches of a filter without its statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matches {
    /// The ids of these, in no order.
    Few(Vec<Uuid>),
    /// So many.
    Many(u64),
}

impl Matches {
    /// How many systems match.
    pub fn len(&self) -> u64 {
        match self {
            Matches::Few(ids) => ids.len() as u64,
            Matches::Many(n) => *n,
        }
    }

    /// For [`Matches::from_bytes`]: the number, and the ids where there are few.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.len().to_be_bytes().to_vec();
        if let Matches::Few(ids) = self {
            bytes.extend(ids.iter().flat_map(|id| id.into_bytes()));
        }
        bytes
    }

    /// Reads the result of [`Matches::to_bytes`]; none for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Matches> {
        let (n, rest) = bytes.split_first_chunk()?;
        let (n, (ids, _)) = (u64::from_be_bytes(*n), rest.as_chunks());
        let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from_bytes(*id)).collect();
        Some(if ids.len() as u64 == n { Matches::Few(ids) } else { Matches::Many(n) })
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether [`matches`] can answer the filter without its statuses, with a result that is valid until a system changes.
/// Not for a text that is found in the word of a status, not for a filter that includes deleted systems, and not for
/// one that has statuses only.
pub fn is_lasting(filter: &SystemFilter) -> bool {
    let asked = filter.statuses.as_deref().unwrap_or_default();
    let is_empty = *filter == SystemFilter { statuses: filter.statuses.clone(), ..SystemFilter::default() };
    !is_empty
        && !asked.contains(&StatusFilter::Is(SystemStatus::Deleted))
        && filter.search.as_deref().is_none_or(|text| statuses_with(text).is_empty())
}

/// The systems of a scope that match a filter without its statuses; the filter [`is_lasting`].
///
/// # Errors
/// The database's.
pub async fn matches(db: &Db, scope: &Scope, filter: &SystemFilter) -> Result<Matches, StoreError> {
    let filter = SystemFilter { statuses: None, ..filter.clone() };
    let expanded = expand(db, filter.organizations.as_deref(), filter.include_hierarchy).await?;
    let spec = Spec {
        scope,
        filter: &filter,
        expanded: &expanded,
        order: SystemOrder::CreatedAt,
        direction: SortDirection::Asc,
        cutoff: Ts(0),
        known: Known::default(),
        db,
    };
    let mut q = Q::new("SELECT s.id FROM systems s");
    q.push(spec.by_search());
    spec.push_where(&mut q, None, None);
    q.push(" LIMIT ?").arg(FEW as u64 + 1);
    let ids: Vec<(Uuid,)> = q.all(db).await?;
    Ok(match ids.len() {
        0..=FEW => Matches::Few(ids.into_iter().map(|(id,)| id).collect()),
        _ => Matches::Many(spec.count(db, None).await?),
    })
}

impl Spec<'_> {
    /// The candidate systems, where they are few.
    pub(super) fn few(&self) -> Option<&[Uuid]> {
        match self.known.matches {
            Some(Matches::Few(ids)) => Some(ids),
            _ => None,
        }
    }
}
