//! The tables in PostgreSQL's catalogue, each after the tables it refers to.

use crate::StoreError;
use sqlx::PgConnection;
use std::collections::{BTreeMap, BTreeSet};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Id,
    Time,
    Json,
    Bool,
    Int,
    Text,
    Bytes,
}

impl Type {
    fn of(name: &str) -> Option<Type> {
        Some(match name {
            "uuid" => Type::Id,
            "timestamp with time zone" => Type::Time,
            "jsonb" => Type::Json,
            "boolean" => Type::Bool,
            "bigint" | "integer" | "smallint" => Type::Int,
            "text" => Type::Text,
            "bytea" => Type::Bytes,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Table {
    pub name: String,
    pub columns: Vec<(String, Type)>,
    /// The column that counts by itself.
    pub identity: Option<String>,
}

impl Table {
    pub(super) fn column_list(&self) -> String {
        self.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    /// The columns as texts, in the form in which both engines' values are compared.
    pub(super) fn canonical_list(&self) -> String {
        let expression = |(name, kind): &(String, Type)| match kind {
            Type::Time => format!("(EXTRACT(EPOCH FROM \"{name}\") * 1000000)::bigint"),
            Type::Bytes => format!("ENCODE(\"{name}\", 'hex')"),
            Type::Json => format!("\"{name}\"::text"),
            _ => format!("\"{name}\""),
        };
        self.columns.iter().map(expression).collect::<Vec<_>>().join(", ")
    }
}

const COLUMNS: &str = "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), a.attidentity::text \
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0 \
    AND NOT a.attisdropped AND a.attgenerated = '' AND c.relname <> '_sqlx_migrations' \
    ORDER BY c.relname, a.attnum";
const REFERENCES: &str = "SELECT c.relname::text, r.relname::text FROM pg_constraint f \
    JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid \
    WHERE f.contype = 'f' AND c.relnamespace = current_schema()::regnamespace AND c.oid <> r.oid";

/// Every table with its columns, each after those it refers to.
pub(super) async fn tables(target: &mut PgConnection) -> Result<Vec<Table>, StoreError> {
    let columns: Vec<(String, String, String, String)> =
        sqlx::query_as(COLUMNS).fetch_all(&mut *target).await?;
    let references: Vec<(String, String)> = sqlx::query_as(REFERENCES).fetch_all(target).await?;
    let mut unsorted: BTreeMap<String, Table> = BTreeMap::new();
    for (table, column, kind, identity) in columns {
        let kind = Type::of(&kind)
            .ok_or_else(|| StoreError::Transfer(format!("{table}.{column} is of the unknown type {kind}")))?;
        let entry = unsorted.entry(table.clone());
        let entry = entry.or_insert(Table { name: table, columns: Vec::new(), identity: None });
        if !identity.is_empty() {
            entry.identity = Some(column.clone());
        }
        entry.columns.push((column, kind));
    }
    let mut ordered = Vec::with_capacity(unsorted.len());
    while !unsorted.is_empty() {
        let names: BTreeSet<String> = unsorted.keys().cloned().collect();
        let is_free = |name: &String| references.iter().all(|(from, to)| from != name || !names.contains(to));
        let free: Vec<String> = names.iter().filter(|name| is_free(name)).cloned().collect();
        if free.is_empty() {
            return Err(StoreError::Misuse("tables refer to each other in a circle"));
        }
        ordered.extend(free.iter().filter_map(|name| unsorted.remove(name)));
    }
    Ok(ordered)
}
