//! Statements: one text for both engines.
//!
//! * `?` is a placeholder; it becomes `$n` on PostgreSQL (named parameters are looked up linearly by SQLite, so it
//!   keeps `?`). No statement contains a literal question mark.
//! * `[[postgres||sqlite]]` is one of the few places where the engines differ; either side may be empty.
//!
//! Statements that never change are `const` texts in the `STATEMENTS` of their module; [`crate::catalogue`] has them
//! all, and a test prepares each on both engines.

mod by_index;
mod fixed;
mod ids;
pub mod replica;
mod run;
mod table;

pub(crate) use fixed::{assignments, names, placeholders, statements, values};
pub(crate) use ids::{LIKE_ANY_ARRAY, at_least, padded};
pub(crate) use table::{Column, ROWS, push_rows};

use crate::{Db, Tx, error::StoreError, time::TsCodec};
use bailiwick_domain::Ts;
use sqlx::{
    Arguments, FromRow,
    postgres::{PgArguments, PgRow},
    sqlite::{SqliteArguments, SqliteRow},
};
use uuid::Uuid;

/// One bound value. `None` is NULL of that type (PostgreSQL requires the type).
#[derive(Clone, Debug)]
pub enum Arg {
    /// UUID / 16-byte BLOB.
    Id(Option<Uuid>),
    Text(Option<String>),
    /// 64-bit integer.
    Int(Option<i64>),
    /// Boolean (0/1 on SQLite).
    Bool(Option<bool>),
    /// timestamptz / microseconds.
    Time(Option<Ts>),
    /// bytea / BLOB.
    Bytes(Option<Vec<u8>>),
    /// jsonb / checked TEXT.
    Json(Option<serde_json::Value>),
    /// uuid[]; PostgreSQL only.
    Ids(Vec<Uuid>),
    /// timestamptz[]; PostgreSQL only.
    Times(Vec<Ts>),
    /// bigint[]; PostgreSQL only.
    Ints(Vec<i64>),
    /// text[]; PostgreSQL only.
    Texts(Vec<String>),
    /// bytea[]; PostgreSQL only.
    Blobs(Vec<Vec<u8>>),
    /// uuid[] with NULLs; PostgreSQL only.
    SomeIds(Vec<Option<Uuid>>),
    /// text[] with NULLs; PostgreSQL only.
    SomeTexts(Vec<Option<String>>),
    /// timestamptz[] with NULLs; PostgreSQL only.
    SomeTimes(Vec<Option<Ts>>),
}

macro_rules! arg_from {
    ($($t:ty => |$v:ident| $e:expr),+ $(,)?) => {$(
        impl From<$t> for Arg {
            fn from($v: $t) -> Arg { $e }
        }
    )+};
}

arg_from! {
    Uuid => |v| Arg::Id(Some(v)),
    Option<Uuid> => |v| Arg::Id(v),
    &str => |v| Arg::Text(Some(v.to_owned())),
    String => |v| Arg::Text(Some(v)),
    &String => |v| Arg::Text(Some(v.clone())),
    Option<String> => |v| Arg::Text(v),
    Option<&str> => |v| Arg::Text(v.map(str::to_owned)),
    i64 => |v| Arg::Int(Some(v)),
    u64 => |v| Arg::Int(Some(i64::try_from(v).unwrap_or(i64::MAX))),
    Option<i64> => |v| Arg::Int(v),
    bool => |v| Arg::Bool(Some(v)),
    Ts => |v| Arg::Time(Some(v)),
    Option<Ts> => |v| Arg::Time(v),
    Vec<u8> => |v| Arg::Bytes(Some(v)),
    &[u8] => |v| Arg::Bytes(Some(v.to_vec())),
    Option<Vec<u8>> => |v| Arg::Bytes(v),
    serde_json::Value => |v| Arg::Json(Some(v)),
    Option<serde_json::Value> => |v| Arg::Json(v),
}

macro_rules! arg_from_ids {
    ($($t:ident),+) => {$(
        impl From<bailiwick_domain::$t> for Arg {
            fn from(v: bailiwick_domain::$t) -> Arg { Arg::Id(Some(v.0)) }
        }
        impl From<Option<bailiwick_domain::$t>> for Arg {
            fn from(v: Option<bailiwick_domain::$t>) -> Arg { Arg::Id(v.map(|v| v.0)) }
        }
    )+};
}
arg_from_ids!(
    OrgId,
    UserId,
    SystemId,
    ChainId,
    LoginId,
    JobId,
    ApiKeyId,
    ApplicationId,
    ReassignmentId,
    ImpersonationId
);

/// A row that decodes from both engines: `#[derive(sqlx::FromRow)]` on a struct of common types.
pub trait Row: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}
impl<T: for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin> Row for T {}

/// Where a statement runs: reads outside a transaction use the read pool, or a replica ([`replica`]).
#[derive(Debug)]
pub enum On<'a> {
    /// The read pool. Never for writes.
    Db(&'a Db),
    /// An open transaction.
    Tx(&'a mut Tx),
}

impl On<'_> {
    /// A handle for one more statement.
    pub const fn reborrow(&mut self) -> On<'_> {
        match self {
            On::Db(db) => On::Db(db),
            On::Tx(tx) => On::Tx(tx),
        }
    }
}

impl<'a> From<&'a Db> for On<'a> {
    fn from(db: &'a Db) -> On<'a> {
        On::Db(db)
    }
}

impl<'a> From<&'a mut Tx> for On<'a> {
    fn from(tx: &'a mut Tx) -> On<'a> {
        On::Tx(tx)
    }
}

/// A statement under construction.
#[derive(Clone, Debug, Default)]
pub struct Q {
    sql: String,
    args: Vec<Arg>,
    by_index: bool,
}

impl Q {
    /// Starts with a text.
    pub fn new(sql: &str) -> Q {
        Q { sql: sql.to_owned(), args: Vec::new(), by_index: false }
    }

    /// Binds the next `?`.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Arg>) -> Q {
        self.args.push(value.into());
        self
    }

    /// Binds as many of the next `?` as there are values.
    #[must_use]
    pub(crate) fn bind_all(mut self, values: impl IntoIterator<Item = Arg>) -> Q {
        self.args.extend(values);
        self
    }

    /// Appends text.
    pub fn push(&mut self, sql: &str) -> &mut Q {
        self.sql.push_str(sql);
        self
    }

    /// Appends another statement with its values.
    pub fn append(&mut self, mut other: Q) -> &mut Q {
        self.sql.push_str(&other.sql);
        self.args.append(&mut other.args);
        self
    }

    /// Appends a value to bind; its `?` must be in the text pushed before.
    pub fn arg(&mut self, value: impl Into<Arg>) -> &mut Q {
        self.args.push(value.into());
        self
    }

    /// Appends `?, ?, …` and binds each value; for `IN (…)`. An empty list becomes `NULL`, which matches nothing.
    pub fn list<T: Into<Arg>>(&mut self, values: impl IntoIterator<Item = T>) -> &mut Q {
        let mut first = true;
        for value in values {
            self.sql.push_str(if first { "?" } else { ", ?" });
            self.args.push(value.into());
            first = false;
        }
        if first {
            self.sql.push_str("NULL");
        }
        self
    }

    /// All rows.
    pub async fn all<T: Row>(self, on: impl Into<On<'_>>) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        self.each(on.into(), &mut |row| {
            match row {
                Some(row) => all.push(row.decode()?),
                None => all.clear(),
            }
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// All rows, as long as they are no larger than `budget` together. They are measured as they arrive, so memory
    /// never holds more than that.
    ///
    /// # Errors
    /// [`StoreError::TooHeavy`] beyond the budget.
    pub(crate) async fn all_within<T: Row>(
        self,
        db: &Db,
        budget: usize,
        weight: impl Fn(&T) -> usize + Send + Sync,
    ) -> Result<Vec<T>, StoreError> {
        let (mut all, mut sum) = (Vec::new(), 0_usize);
        self.each(On::Db(db), &mut |row| {
            let Some(row) = row else {
                (all, sum) = (Vec::new(), 0);
                return Ok(());
            };
            let row = row.decode()?;
            sum = sum.saturating_add(weight(&row));
            if sum > budget {
                return Err(StoreError::TooHeavy);
            }
            all.push(row);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    /// The row, if there is one.
    pub async fn optional<T: Row>(self, on: impl Into<On<'_>>) -> Result<Option<T>, StoreError> {
        let row = self.first(on.into()).await?;
        Ok(row.map(|row| row.decode()).transpose()?)
    }

    /// The one row; missing is an error.
    pub async fn one<T: Row>(self, on: impl Into<On<'_>>) -> Result<T, StoreError> {
        self.optional(on).await?.ok_or(StoreError::Sql(sqlx::Error::RowNotFound))
    }

    /// A single integer (a count, a sum); NULL is 0.
    pub async fn count(self, on: impl Into<On<'_>>) -> Result<u64, StoreError> {
        let row: Option<(Option<i64>,)> = self.optional(on).await?;
        Ok(row.and_then(|r| r.0).and_then(|n| u64::try_from(n).ok()).unwrap_or(0))
    }

    /// The text as the engine gets it; for EXPLAIN and the catalogue test.
    pub fn text_for(&self, postgres: bool) -> String {
        render(&self.sql, postgres)
    }
}

fn render_pg(q: Q) -> Result<(String, PgArguments), StoreError> {
    let sql = render(&q.sql, true);
    let mut args = PgArguments::default();
    for arg in q.args {
        match arg {
            Arg::Id(v) => args.add(v),
            Arg::Text(v) => args.add(v),
            Arg::Int(v) => args.add(v),
            Arg::Bool(v) => args.add(v),
            Arg::Time(v) => args.add(v.map(TsCodec)),
            Arg::Bytes(v) => args.add(v),
            Arg::Json(v) => args.add(v),
            Arg::Ids(v) => args.add(v),
            Arg::SomeIds(v) => args.add(v),
            Arg::Times(v) => args.add(v.into_iter().map(TsCodec).collect::<Vec<_>>()),
            Arg::Ints(v) => args.add(v),
            Arg::Texts(v) => args.add(v),
            Arg::Blobs(v) => args.add(v),
            Arg::SomeTexts(v) => args.add(v),
            Arg::SomeTimes(v) => args.add(v.into_iter().map(|t| t.map(TsCodec)).collect::<Vec<_>>()),
        }
        .map_err(StoreError::Encode)?;
    }
    Ok((sql, args))
}

fn render_lite(q: Q) -> Result<(String, SqliteArguments), StoreError> {
    let sql = render(&q.sql, false);
    let mut args = SqliteArguments::default();
    for arg in q.args {
        match arg {
            Arg::Id(v) => args.add(v),
            Arg::Text(v) => args.add(v),
            Arg::Int(v) => args.add(v),
            Arg::Bool(v) => args.add(v),
            Arg::Time(v) => args.add(v.map(TsCodec)),
            Arg::Bytes(v) => args.add(v),
            Arg::Json(v) => args.add(v.map(|v| v.to_string())),
            Arg::Ids(_)
            | Arg::SomeIds(_)
            | Arg::Times(_)
            | Arg::Ints(_)
            | Arg::Texts(_)
            | Arg::Blobs(_)
            | Arg::SomeTexts(_)
            | Arg::SomeTimes(_) => {
                return Err(StoreError::Misuse("arrays exist on PostgreSQL only"));
            }
        }
        .map_err(StoreError::Encode)?;
    }
    Ok((sql, args))
}

/// Chooses the sides of `[[postgres||sqlite]]` and numbers the placeholders for PostgreSQL.
pub(crate) fn render(sql: &str, postgres: bool) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut n = 0;
    let mut plain = |text: &str, out: &mut String| {
        if !postgres {
            out.push_str(text);
            return;
        }
        for (i, part) in text.split('?').enumerate() {
            if i > 0 {
                n += 1;
                out.push('$');
                out.push_str(&n.to_string());
            }
            out.push_str(part);
        }
    };
    let mut rest = sql;
    while let Some((before, after)) = rest.split_once("[[") {
        plain(before, &mut out);
        let (both, tail) = after.split_once("]]").unwrap_or((after, ""));
        let (pg, lite) = both.split_once("||").unwrap_or((both, ""));
        plain(if postgres { pg } else { lite }, &mut out);
        rest = tail;
    }
    plain(rest, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn renders_for_each_engine() {
        let sql = "SELECT a FROM t WHERE b = ? AND c = ? [[FOR UPDATE||]] LIMIT ?";
        assert_eq!(render(sql, true), "SELECT a FROM t WHERE b = $1 AND c = $2 FOR UPDATE LIMIT $3");
        assert_eq!(render(sql, false), "SELECT a FROM t WHERE b = ? AND c = ?  LIMIT ?");
    }
}
