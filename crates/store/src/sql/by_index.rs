//! Statements that read by index whatever PostgreSQL estimates about their tables.
//!
//! A queue is empty at one moment and has a backlog at the next, so its statistics say nothing, and PostgreSQL may keep
//! a plan that was made while the queue was empty. Such a statement asks for an order that one index has, and this
//! module disables every other plan: the plan is the same in every state. `tests/api/explain/queues.rs` creates the
//! states.

use super::Q;
use sqlx::{Executor as _, PgConnection};

impl Q {
    /// Starts with a text about a queue: PostgreSQL reads it by the index that has its order, whatever its statistics.
    pub(crate) fn by_index(sql: &str) -> Q {
        Q { by_index: true, ..Q::new(sql) }
    }
}

macro_rules! each_way {
    ($before:literal, $to:literal) => {
        concat!(
            $before,
            "SET LOCAL enable_seqscan",
            $to,
            "; SET LOCAL enable_bitmapscan",
            $to,
            "; SET LOCAL enable_hashjoin",
            $to,
            "; SET LOCAL enable_mergejoin",
            $to,
            "; SET LOCAL enable_material",
            $to,
            "; SET LOCAL enable_sort",
            $to,
            "; SET LOCAL enable_incremental_sort",
            $to
        )
    };
}
/// Begins a transaction for one statement, in one message.
pub(super) const BEGIN: &str = each_way!("BEGIN; ", " = off");
const ONLY: &str = each_way!("", " = off");
const ANY: &str = each_way!("", " TO DEFAULT");

/// From here to [`reset_planner`].
pub(super) async fn only(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(ONLY)).await.map(drop)
}

/// The statements that follow are planned as usual.
pub(super) async fn reset_planner(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(ANY)).await.map(drop)
}
