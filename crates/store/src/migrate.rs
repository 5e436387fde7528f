//! Migrations: each number has two files of the same name, one for each engine. The first ones make the first schema, a
//! file for each subject.

use crate::{Db, engine::Engine, error::StoreError, folding, sql::Q};
use sqlx::{
    PgPool,
    migrate::{MigrateError, Migrator},
};

static SQLITE: Migrator = sqlx_macros::migrate!("./migrations/sqlite");
static POSTGRES: Migrator = sqlx_macros::migrate!("./migrations/postgres");

const OLDEST: &str = "SELECT oldest FROM schema_compatibility WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![OLDEST];

impl Db {
    /// Applies the missing migrations, and folds texts again whose rule has changed; several processes may do so at the
    /// same time. On PostgreSQL the schema may be that of a newer program that runs beside this one, as long as it
    /// supports this one; a SQLite file has one program.
    ///
    /// # Errors
    /// [`StoreError::Foreign`] for the schema of another program; the database's.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        self.apply_migrations().await?;
        folding::bring_up_to_date(self).await
    }

    async fn apply_migrations(&self) -> Result<(), StoreError> {
        let pool = match &self.engine {
            Engine::Pg(pool) => pool,
            Engine::Lite { write, .. } => return SQLITE.run(write).await.map_err(with_advice),
        };
        match run(&POSTGRES, pool).await {
            Err(MigrateError::VersionMissing(found)) if found > newest() && self.supports_this().await? => {
                tracing::warn!(
                    migration = found,
                    "a newer version of the program has migrated the database; this version runs beside it until it is \
                     upgraded too"
                );
                let mut tolerant = Migrator::with_migrations(POSTGRES.iter().cloned().collect());
                tolerant.set_ignore_missing(true);
                run(&tolerant, pool).await.map_err(with_advice)
            }
            done => done.map_err(with_advice),
        }
    }

    /// Whether the newer schema says that this program can run on it.
    async fn supports_this(&self) -> Result<bool, StoreError> {
        let oldest: (i64,) = Q::new(OLDEST).one(self).await?;
        Ok(oldest.0 <= newest())
    }
}

async fn run(migrations: &Migrator, pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?;
    let done = migrations.run(&mut *connection).await;
    if done.is_err() {
        // A run that fails leaves its lock to the connection, where it would keep others from starting. The lock goes
        // with the connection. Why the run failed is what counts, not how the connection ends.
        let _ = connection.close().await;
    }
    done
}

/// The number of this program's newest migration.
fn newest() -> i64 {
    SQLITE.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Adds advice for the operator to an error, where it is known.
fn with_advice(error: MigrateError) -> StoreError {
    let newest = newest();
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
        MigrateError::Dirty(found) => StoreError::Foreign(format!(
            "its migration {found} was begun and not completed: restore the backup from before it, then start again"
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
