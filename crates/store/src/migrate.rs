//! Migrations: each number has two files of the same name, one for each engine.

use crate::{Db, engine::Engine, error::StoreError};
use sqlx::migrate::{MigrateError, Migrator};

static SQLITE: Migrator = sqlx_macros::migrate!("./migrations/sqlite");
static POSTGRES: Migrator = sqlx_macros::migrate!("./migrations/postgres");

impl Db {
    /// Applies the missing migrations; several processes may do so at the same time.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let done = match &self.engine {
            Engine::Pg(pool) => POSTGRES.run(pool).await,
            Engine::Lite { write, .. } => SQLITE.run(write).await,
        };
        done.map_err(told)
    }
}

/// Adds advice for the operator to an error, where it is known.
fn told(error: MigrateError) -> StoreError {
    let newest = SQLITE.iter().map(|migration| migration.version).max().unwrap_or_default();
    match error {
        MigrateError::VersionMissing(found) if found > newest => StoreError::Foreign(format!(
            "it was brought to its schema by a newer version of the program (migration {found}; this one knows those up \
             to {newest}): upgrade the program, or restore a backup of the older database"
        )),
        MigrateError::VersionMissing(found) => StoreError::Foreign(format!(
            "it has migration {found}, which this version of the program does not have: it was used with another build"
        )),
        MigrateError::VersionMismatch(found) => StoreError::Foreign(format!(
            "its migration {found} is not the one of this version of the program: it was used with another build"
        )),
        other => other.into(),
    }
}

/// Numbers and names of one set of migrations.
pub type Listed = Vec<(i64, String)>;

/// Both sets, SQLite's first, for the test that they are twins.
pub fn migrations() -> (Listed, Listed) {
    let list = |m: &Migrator| m.iter().map(|m| (m.version, m.description.to_string())).collect();
    (list(&SQLITE), list(&POSTGRES))
}
