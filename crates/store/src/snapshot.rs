//! A copy of a SQLite file while it is in use, by this process or another.

use crate::{Db, StoreError, engine::Engine};
use std::path::Path;

impl Db {
    /// Writes the state of one moment into a new file; writers need not wait.
    ///
    /// # Errors
    /// [`StoreError::Misuse`] on PostgreSQL, which has tools of its own. The database's; the file must not exist.
    pub async fn snapshot(&self, to: &Path) -> Result<(), StoreError> {
        let Engine::Lite { write, .. } = &self.engine else {
            return Err(StoreError::Misuse("the database is PostgreSQL: use pg_dump"));
        };
        let name = to.to_str().ok_or(StoreError::Misuse("the name of the file is not UTF-8"))?;
        sqlx::query("VACUUM INTO ?").bind(name).execute(write).await?;
        Ok(())
    }
}
