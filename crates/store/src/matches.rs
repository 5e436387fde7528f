//! The rows that a filter matches among those of a scope: found once and valid until one of them changes, for all pages
//! and orders of a list.

use crate::{Db, StoreError, sql::Q};
use uuid::Uuid;

/// Up to this many are sorted for less than it costs to find a page of them among all.
const FEW: usize = 2_000;

/// The matches of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matches {
    /// The ids of these, in no order.
    Few(Vec<Uuid>),
    /// So many.
    Many(u64),
}

impl Matches {
    /// How many rows match.
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
            bytes.extend(ids_to_bytes(ids));
        }
        bytes
    }

    /// Reads the result of [`Matches::to_bytes`]; none for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Matches> {
        let (n, rest) = bytes.split_first_chunk()?;
        let (n, ids) = (u64::from_be_bytes(*n), ids_from_bytes(rest));
        Some(if ids.len() as u64 == n { Matches::Few(ids) } else { Matches::Many(n) })
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids, where they are few.
    pub(crate) fn few(&self) -> Option<&[Uuid]> {
        match self {
            Matches::Few(ids) => Some(ids),
            Matches::Many(_) => None,
        }
    }
}

/// For [`ids_from_bytes`].
pub fn ids_to_bytes(ids: &[Uuid]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.into_bytes()).collect()
}

/// Reads the result of [`ids_to_bytes`].
pub fn ids_from_bytes(bytes: &[u8]) -> Vec<Uuid> {
    bytes.as_chunks().0.iter().map(|id| Uuid::from_bytes(*id)).collect()
}

/// The matches that a statement finds: `ids` selects the ids of all of them, `count` counts them where they are many.
///
/// # Errors
/// The database's.
pub(crate) async fn find(
    db: &Db,
    mut ids: Q,
    count: impl Future<Output = Result<u64, StoreError>>,
) -> Result<Matches, StoreError> {
    ids.push(" LIMIT ?").arg(FEW as u64 + 1);
    let ids: Vec<(Uuid,)> = ids.all(db).await?;
    Ok(match ids.len() {
        0..=FEW => Matches::Few(ids.into_iter().map(|(id,)| id).collect()),
        _ => Matches::Many(count.await?),
    })
}
