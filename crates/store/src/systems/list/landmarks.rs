//! Landmarks in the order by organization: some of the names, each with how many systems come before it. A page far behind is
//! found from the nearest one instead of by passing over all systems before it.

use crate::{Db, StoreError, scope::push_scope, sql::Q, systems::filter::DELETED_ORGANIZATIONS};
use bailiwick_domain::SortDirection;
use bailiwick_policy::Scope;
use serde::{Deserialize, Serialize};

/// The landmarks of a scope. They are valid until an organization or the number of its systems changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landmarks {
    /// Systems in the scope.
    systems: u64,
    /// By name, ascending.
    names: Vec<Landmark>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Landmark {
    name_key: String,
    /// The name before it.
    previous: String,
    /// Systems of the organizations with a name before it.
    before: u64,
}

/// The landmarks of a scope, after every so many organizations: one walk through its organizations and their counters.
///
/// # Errors
/// The database's.
pub async fn landmarks(db: &Db, scope: &Scope, every: u64) -> Result<Landmarks, StoreError> {
    // An organization whose name others have too is no landmark: their systems are sorted together.
    let mut q = Q::new(
        "SELECT x.name_key, x.previous, x.upto, x.own, x.systems FROM (SELECT o.name_key, n.systems AS own, \
         LAG(o.name_key) OVER w AS previous, ROW_NUMBER() OVER w AS place, CAST(SUM(n.systems) OVER w AS BIGINT) AS upto, \
         CAST(SUM(n.systems) OVER () AS BIGINT) AS systems \
         FROM organizations o JOIN organization_counts n ON n.organization_id = o.id WHERE o.id NOT IN ",
    );
    q.push(DELETED_ORGANIZATIONS);
    push_scope(&mut q, "o", "id", scope);
    q.push(
        " WINDOW w AS (ORDER BY o.name_key, o.id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) x \
         WHERE x.place % ? = 0 AND x.previous <> x.name_key ORDER BY x.name_key",
    );
    let rows: Vec<(String, String, i64, i64, i64)> = q.bind(every.max(1)).all(db).await?;
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    let systems = rows.first().map_or(0, |row| count(row.4));
    let names = rows.into_iter().map(|(name_key, previous, upto, own, _)| Landmark {
        name_key,
        previous,
        before: count(upto - own),
    });
    Ok(Landmarks { systems, names: names.collect() })
}

impl Landmarks {
    /// The name to start from for the row at `offset`, and how many rows are passed over from there; none before the first
    /// landmark.
    pub(super) fn nearest(&self, direction: SortDirection, offset: u64) -> (Option<String>, u64) {
        let passed = |landmark: &Landmark| match direction {
            SortDirection::Asc => landmark.before,
            SortDirection::Desc => self.systems.saturating_sub(landmark.before),
        };
        let is_before = |landmark: &&Landmark| passed(landmark) <= offset;
        let found = match direction {
            SortDirection::Asc => self.names.iter().rev().find(is_before),
            SortDirection::Desc => self.names.iter().find(is_before),
        };
        let name = found.map(|landmark| match direction {
            SortDirection::Asc => landmark.name_key.clone(),
            SortDirection::Desc => landmark.previous.clone(),
        });
        (name, offset - found.map_or(0, passed))
    }
}
