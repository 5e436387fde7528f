//! Runs statements on a transaction, on the database, or on its replica.

use super::{
    On, Q, Row, by_index, render_lite, render_pg,
    replica::{self, STATEMENT},
};
use crate::{Db, Tx, engine::Engine, error::StoreError};
use futures_util::TryStreamExt;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, Postgres,
    pool::PoolConnection,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};
use std::pin::Pin;
use tokio::time::timeout;

/// Takes rows as they arrive. With `None` it forgets them: they are read again from another database.
type Take<'a> = &'a mut (dyn FnMut(Option<Fetched>) -> Result<(), StoreError> + Send);

impl Q {
    /// Runs a write and returns how many rows it changed.
    pub async fn run(self, tx: &mut Tx) -> Result<u64, StoreError> {
        tx.check()?;
        let done = self.run_in(tx).await;
        tx.note(done)
    }

    async fn run_in(self, tx: &mut Tx) -> Result<u64, StoreError> {
        match tx {
            Tx::Pg(tx, ..) if self.by_index => {
                by_index::only(tx).await?;
                let n = pg(self)?.execute(&mut **tx).await?.rows_affected();
                by_index::reset_planner(tx).await?;
                Ok(n)
            }
            Tx::Pg(tx, ..) => Ok(pg(self)?.execute(&mut **tx).await?.rows_affected()),
            Tx::Lite(tx, ..) => Ok(lite(self)?.execute(&mut **tx).await?.rows_affected()),
        }
    }

    /// Reads all rows, each to `take` as it arrives. One compiled body for every type of row, behind a pointer:
    /// otherwise each of the hundreds of types would compile the machinery of both engines again.
    pub(super) fn each<'a>(
        self,
        on: On<'a>,
        take: Take<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>> {
        Box::pin(async move {
            match on {
                On::Db(db) => {
                    let _traced = db.query_span();
                    match &db.engine {
                        Engine::Pg(pool) => {
                            if self.each_of_replica(db, take).await? {
                                return Ok(());
                            }
                            let mut connection = db.pools.read(Box::pin(pool.acquire())).await?;
                            self.pg_each_alone(&mut connection, take).await?;
                        }
                        Engine::Lite { read, .. } => {
                            let mut connection = db.pools.read(Box::pin(read.acquire())).await?;
                            let mut rows = lite(self)?.fetch(&mut *connection);
                            while let Some(row) = rows.try_next().await? {
                                take(Some(Fetched::Lite(row)))?;
                            }
                        }
                    }
                }
                On::Tx(tx) => {
                    tx.check()?;
                    let done = self.each_in(tx, take).await;
                    tx.note(done)?;
                }
            }
            Ok(())
        })
    }

    async fn each_in(self, tx: &mut Tx, take: Take<'_>) -> Result<(), StoreError> {
        match tx {
            Tx::Pg(tx, ..) if self.by_index => {
                by_index::only(tx).await?;
                pg_each(self, tx, take).await?;
                by_index::reset_planner(tx).await?;
            }
            Tx::Pg(tx, ..) => pg_each(self, tx, take).await?,
            Tx::Lite(tx, ..) => {
                let mut rows = lite(self)?.fetch(&mut **tx);
                while let Some(row) = rows.try_next().await? {
                    take(Some(Fetched::Lite(row)))?;
                }
            }
        }
        Ok(())
    }

    /// Reads all rows from the replica. False if the primary must be read: the present request does not read from the
    /// replica, or the replica has failed.
    async fn each_of_replica(&self, db: &Db, take: Take<'_>) -> Result<bool, StoreError> {
        let Some(replica) = db.replica_of_request() else { return Ok(false) };
        let mut is_refused = false;
        let read = async {
            let mut connection = replica.connection().await?;
            let mut note = |row| take(row).inspect_err(|_| is_refused = true);
            let read = timeout(STATEMENT, self.clone().pg_each_alone(&mut connection, &mut note)).await;
            replica::finish(connection, read)
        };
        match read.await {
            Err(fault) if !is_refused => {
                replica.leave(&fault);
                take(None)?;
                Ok(false)
            }
            read => read.map(|()| true),
        }
    }

    /// Reads all rows outside of a transaction.
    async fn pg_each_alone(
        self,
        connection: &mut PoolConnection<Postgres>,
        take: Take<'_>,
    ) -> Result<(), StoreError> {
        if !self.by_index {
            return pg_each(self, connection, take).await;
        }
        let mut unfinished = Unfinished { connection, is_over: false };
        let mut tx = unfinished.connection.begin_with(by_index::BEGIN).await?;
        pg_each(self, &mut tx, take).await?;
        tx.commit().await?;
        unfinished.is_over = true;
        Ok(())
    }

    /// Reads the first row; compiled once, as [`Q::each`] is.
    pub(super) fn first<'a>(
        self,
        on: On<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Fetched>, StoreError>> + Send + 'a>> {
        Box::pin(async move {
            if self.by_index {
                let mut first = None;
                self.each(on, &mut |row| {
                    first = row.and_then(|row| first.take().or(Some(row)));
                    Ok(())
                })
                .await?;
                return Ok(first);
            }
            Ok(match on {
                On::Db(db) => {
                    let _traced = db.query_span();
                    match &db.engine {
                        Engine::Pg(pool) => {
                            if let Some(first) = self.first_of_replica(db).await {
                                return Ok(first);
                            }
                            let mut connection = db.pools.read(Box::pin(pool.acquire())).await?;
                            pg(self)?.fetch_optional(&mut *connection).await?.map(Fetched::Pg)
                        }
                        Engine::Lite { read, .. } => {
                            let mut connection = db.pools.read(Box::pin(read.acquire())).await?;
                            lite(self)?.fetch_optional(&mut *connection).await?.map(Fetched::Lite)
                        }
                    }
                }
                On::Tx(tx) => {
                    tx.check()?;
                    let done = self.first_in(tx).await;
                    tx.note(done)?
                }
            })
        })
    }

    async fn first_in(self, tx: &mut Tx) -> Result<Option<Fetched>, StoreError> {
        Ok(match tx {
            Tx::Pg(tx, ..) => pg(self)?.fetch_optional(&mut **tx).await?.map(Fetched::Pg),
            Tx::Lite(tx, ..) => lite(self)?.fetch_optional(&mut **tx).await?.map(Fetched::Lite),
        })
    }

    /// The first row from the replica; `None` if the primary must be read.
    async fn first_of_replica(&self, db: &Db) -> Option<Option<Fetched>> {
        let replica = db.replica_of_request()?;
        let read = async {
            let mut connection = replica.connection().await?;
            let read = async { Ok(pg(self.clone())?.fetch_optional(&mut *connection).await?) };
            let read = timeout(STATEMENT, read).await;
            replica::finish(connection, read)
        };
        match read.await {
            Ok(row) => Some(row.map(Fetched::Pg)),
            Err(fault) => {
                replica.leave(&fault);
                None
            }
        }
    }

    /// The one row on this connection.
    pub(crate) async fn one_on<T: Row>(self, connection: &mut PgConnection) -> Result<T, StoreError> {
        Ok(T::from_row(&pg(self)?.fetch_one(connection).await?)?)
    }
}

/// A connection with a transaction. Dropping it closes the connection unless the transaction has ended: the driver may
/// not know yet of a transaction that PostgreSQL has begun, and the next statements on the connection would run in it.
struct Unfinished<'c> {
    connection: &'c mut PoolConnection<Postgres>,
    is_over: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.connection.close_on_drop();
        }
    }
}

/// A row as read.
pub(super) enum Fetched {
    Pg(PgRow),
    Lite(SqliteRow),
}

impl Fetched {
    pub(super) fn decode<T: Row>(&self) -> Result<T, sqlx::Error> {
        match self {
            Fetched::Pg(row) => T::from_row(row),
            Fetched::Lite(row) => T::from_row(row),
        }
    }
}

async fn pg_each(q: Q, connection: &mut PgConnection, take: Take<'_>) -> Result<(), StoreError> {
    let mut rows = pg(q)?.fetch(connection);
    while let Some(row) = rows.try_next().await? {
        take(Some(Fetched::Pg(row)))?;
    }
    Ok(())
}

fn pg(q: Q) -> Result<sqlx::query::Query<'static, Postgres, PgArguments>, StoreError> {
    let (sql, args) = render_pg(q)?;
    Ok(sqlx::query_with(AssertSqlSafe(sql), args))
}

fn lite(q: Q) -> Result<sqlx::query::Query<'static, sqlx::Sqlite, SqliteArguments>, StoreError> {
    let (sql, args) = render_lite(q)?;
    Ok(sqlx::query_with(AssertSqlSafe(sql), args))
}
