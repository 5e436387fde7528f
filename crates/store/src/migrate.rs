//! Migrations: for each number two files of the same name, one for each engine.

use crate::{Db, db::Engine, error::StoreError};
use sqlx::migrate::Migrator;

static SQLITE: Migrator = sqlx::migrate!("./migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("./migrations/postgres");

impl Db {
    /// Applies what is missing; several processes may do so at the same time.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Pg(pool) => Ok(POSTGRES.run(pool).await?),
            Engine::Lite { write, .. } => Ok(SQLITE.run(write).await?),
        }
    }
}

/// Numbers and names of one set of migrations.
pub type Listed = Vec<(i64, String)>;

/// Both sets, SQLite's first, for the test that they are twins.
pub fn migrations() -> (Listed, Listed) {
    let list = |m: &Migrator| m.iter().map(|m| (m.version, m.description.to_string())).collect();
    (list(&SQLITE), list(&POSTGRES))
}
