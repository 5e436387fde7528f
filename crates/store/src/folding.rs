//! Folds stored texts again after the rule has changed by which texts are compared. A folded text can be folded again,
//! so each column is enough by itself.
//!
//! It happens once, when a program with a newer rule migrates the database. Where two unique texts have become the
//! same, the row keeps its older key: it stays readable, and the log names it.

use crate::{Db, StoreError, Tx, sql::Q};
use bailiwick_domain::{
    fold::{fold, fold_start},
    validate::{Email, Vat},
};
use uuid::Uuid;

/// The number of the present rules: [`fold`], [`Email::key_of`] and [`Vat::key_of`]. 2: full case folding, A-labels of
/// domains, VAT numbers without characters that nobody sees.
const RULE: i64 = 2;

/// Rows that are read at once.
const PORTION: i64 = 1000;

const HOLD: &str = "SELECT rule FROM text_folding WHERE id = 1 [[FOR UPDATE||]]";
const NOTE: &str = "UPDATE text_folding SET rule = ? WHERE id = 1";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![HOLD, NOTE];

/// A folded column.
struct Column {
    table: &'static str,
    id: &'static str,
    name: &'static str,
    rule: fn(&str) -> String,
    /// Whether no other row may have the new key `?`; empty = any may.
    unless_taken: &'static str,
}

const fn column(table: &'static str, name: &'static str) -> Column {
    Column { table, id: "id", name, rule: fold, unless_taken: "" }
}

const COLUMNS: &[Column] = &[
    column("organizations", "name_key"),
    column("organizations", "description_key"),
    Column { rule: fold_start, ..column("organizations", "description_order") },
    column("organizations", "search_key"),
    column("organizations", "creator_key"),
    Column {
        rule: Vat::key_of,
        unless_taken: " AND (type = 'customer' OR NOT EXISTS (SELECT 1 FROM organizations o WHERE o.vat_key = ? \
                        AND o.type = organizations.type AND o.deleted_at IS NULL AND o.id <> organizations.id))",
        ..column("organizations", "vat_key")
    },
    column("users", "name_key"),
    column("users", "search_key"),
    column("users", "creator_key"),
    Column {
        rule: Email::key_of,
        unless_taken: " AND NOT EXISTS (SELECT 1 FROM users o WHERE o.email_key = ? AND o.deleted_at IS NULL \
                        AND o.id <> users.id)",
        ..column("users", "email_key")
    },
    Column { rule: Email::key_of, ..column("users", "previous_email_key") },
    Column { rule: Email::key_of, ..column("users", "password_mailed_to") },
    column("systems", "name_key"),
    column("systems", "type_key"),
    column("systems", "fqdn_key"),
    column("systems", "search_key"),
    column("systems", "creator_key"),
    Column { rule: fold_start, ..column("applications", "module_key") },
    Column { rule: fold_start, ..column("applications", "type_key") },
    Column { rule: fold_start, ..column("applications", "display_key") },
    column("applications", "search_key"),
    Column { id: "system_id", ..column("application_hosts", "name_key") },
];

/// Brings every folded column to the present rules, unless that was done before. Processes that start together wait for
/// the first one.
pub(crate) async fn bring_up_to_date(db: &Db) -> Result<(), StoreError> {
    let mut tx = db.begin().await?;
    let rule: (i64,) = Q::new(HOLD).one(&mut tx).await?;
    if rule.0 >= RULE {
        return Ok(());
    }
    let mut changed = 0;
    for column in COLUMNS {
        changed += again(&mut tx, column).await?;
    }
    Q::new(NOTE).bind(RULE).run(&mut tx).await?;
    tx.commit().await?;
    if changed > 0 {
        tracing::info!(texts = changed, "stored texts are compared by newer rules");
    }
    Ok(())
}

/// Only texts beyond ASCII can differ.
async fn again(tx: &mut Tx, column: &Column) -> Result<u64, StoreError> {
    let Column { table, id, name, rule, unless_taken } = column;
    let read = format!(
        "SELECT {id}, {name} FROM {table} WHERE {id} > ? \
         AND [[octet_length({name}) <> char_length({name})||length(CAST({name} AS BLOB)) <> length({name})]] \
         ORDER BY {id} LIMIT ?"
    );
    let write = format!("UPDATE {table} SET {name} = ? WHERE {id} = ?{unless_taken}");
    let (mut after, mut changed) = (Uuid::nil(), 0);
    loop {
        let rows: Vec<(Uuid, String)> = Q::new(&read).bind(after).bind(PORTION).all(&mut *tx).await?;
        let Some((last, _)) = rows.last() else { return Ok(changed) };
        after = *last;
        for (row, text) in &rows {
            let key = rule(text);
            if key == *text {
                continue;
            }
            let mut q = Q::new(&write).bind(&key).bind(*row);
            if !unless_taken.is_empty() {
                q = q.bind(&key);
            }
            match q.run(&mut *tx).await? {
                0 => {
                    tracing::warn!(table, id = %row, column = name, "another row has the same text by newer rules")
                }
                n => changed += n,
            }
        }
    }
}
