//! Rows as texts: in the form of `COPY`, and in the form in which both sides are compared.

use super::schema::{Table, Type};
use crate::StoreError;
use bailiwick_domain::Ts;
use serde_json::Value;
use sqlx::{Row, sqlite::SqliteRow};
use std::{
    fmt::{self, Write},
    hash::{DefaultHasher, Hash, Hasher},
};
use uuid::Uuid;

/// The fields of a row; `None` is NULL. Times are microseconds, bytes are hexadecimal.
pub(super) struct Fields {
    values: Vec<Option<String>>,
    kinds: Vec<Type>,
}

impl Fields {
    /// Of a row of SQLite.
    pub(super) fn of_sqlite(row: &SqliteRow, table: &Table) -> Result<Fields, StoreError> {
        let mut values = Vec::with_capacity(table.columns.len());
        for (n, (column, kind)) in table.columns.iter().enumerate() {
            let unreadable =
                |why: &dyn fmt::Display| StoreError::Transfer(format!("{}.{column}: {why}", table.name));
            let value = match kind {
                Type::Id => {
                    let bytes: Option<Vec<u8>> = row.try_get(n)?;
                    let id = bytes.map(|bytes| Uuid::from_slice(&bytes)).transpose();
                    id.map_err(|e| unreadable(&e))?.map(|id| id.to_string())
                }
                Type::Time | Type::Int => row.try_get::<Option<i64>, _>(n)?.map(|number| number.to_string()),
                Type::Bool => {
                    row.try_get::<Option<i64>, _>(n)?.map(|n| if n == 0 { "f" } else { "t" }.to_owned())
                }
                Type::Text | Type::Json => row.try_get::<Option<String>, _>(n)?,
                Type::Bytes => row.try_get::<Option<Vec<u8>>, _>(n)?.map(|bytes| hex(&bytes)),
            };
            if value.as_deref().is_some_and(|text| text.contains('\0')) {
                return Err(unreadable(&"holds U+0000, which PostgreSQL cannot keep"));
            }
            values.push(value);
        }
        Ok(Fields { values, kinds: table.columns.iter().map(|(_, kind)| *kind).collect() })
    }

    /// Of a line that PostgreSQL has written.
    pub(super) fn of_line(line: &[u8]) -> Result<Fields, StoreError> {
        let text = std::str::from_utf8(line).map_err(|e| StoreError::Transfer(e.to_string()))?;
        Ok(Fields { values: text.split('\t').map(unescape).collect(), kinds: Vec::new() })
    }

    /// One line for `COPY … FROM STDIN`.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        for (n, (value, kind)) in self.values.iter().zip(&self.kinds).enumerate() {
            if n > 0 {
                into.push(b'\t');
            }
            match (value, kind) {
                (None, _) => into.extend_from_slice(b"\\N"),
                (Some(micros), Type::Time) => into.extend_from_slice(time(micros).as_bytes()),
                (Some(hex), Type::Bytes) => {
                    into.extend_from_slice(b"\\\\x");
                    into.extend_from_slice(hex.as_bytes());
                }
                (Some(text), _) => escape(text, into),
            }
        }
        into.push(b'\n');
    }

    /// A text of the row that is equal on both sides where the rows are.
    pub(super) fn canonical(&self, table: &Table) -> Result<String, StoreError> {
        let mut all = String::new();
        if self.values.len() != table.columns.len() {
            return Err(StoreError::Transfer(format!("{}: another number of columns", table.name)));
        }
        for (value, (column, kind)) in self.values.iter().zip(&table.columns) {
            match (value, kind) {
                (None, _) => all.push('N'),
                (Some(text), Type::Json) => {
                    let parsed: Value = serde_json::from_str(text)
                        .map_err(|e| StoreError::Transfer(format!("{}.{column}: {e}", table.name)))?;
                    all.push('V');
                    sorted(&parsed, &mut all);
                }
                (Some(text), _) => {
                    all.push('V');
                    all.push_str(text);
                }
            }
            // A character that no text in PostgreSQL contains.
            all.push('\0');
        }
        Ok(all)
    }
}

/// The text that PostgreSQL reads as this time; its own limits are wider than those of any time the service writes.
fn time(micros: &str) -> String {
    // A text that is not a number makes PostgreSQL refuse the row.
    micros.parse().map_or_else(|_| "no time".to_owned(), |micros| Ts(micros).to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn escape(text: &str, into: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\\' => into.extend_from_slice(b"\\\\"),
            b'\t' => into.extend_from_slice(b"\\t"),
            b'\n' => into.extend_from_slice(b"\\n"),
            b'\r' => into.extend_from_slice(b"\\r"),
            byte => into.push(byte),
        }
    }
}

fn unescape(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut text = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match chars.next() {
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some(c) => c,
            None => '\\',
        });
    }
    Some(text)
}

/// JSON with sorted keys and numbers by their value.
fn sorted(value: &Value, into: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            into.push('{');
            for (key, value) in entries {
                let _ = write!(into, "{}:", Value::from(key.as_str()));
                sorted(value, into);
                into.push(',');
            }
            into.push('}');
        }
        Value::Array(list) => {
            into.push('[');
            for value in list {
                sorted(value, into);
                into.push(',');
            }
            into.push(']');
        }
        Value::Number(number) => {
            // 1.50 and 1.5, 1e2 and 100, -0.0 and 0 are the same.
            let _ = match number.as_f64() {
                Some(float) if number.as_i64().is_none() && number.as_u64().is_none() => {
                    write!(into, "{}", float + 0.0)
                }
                _ => write!(into, "{number}"),
            };
        }
        other => {
            let _ = write!(into, "{other}");
        }
    }
}

/// Number of rows and a sum over them, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest {
    pub rows: u64,
    sum: u128,
}

impl Digest {
    pub(super) fn add(&mut self, canonical: &str) {
        let half = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, canonical).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        self.rows += 1;
        self.sum = self.sum.wrapping_add((half(1) << 64) | half(2));
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows ({:032x})", self.rows, self.sum)
    }
}

/// Lines out of chunks.
#[derive(Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    /// The lines that are whole now.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.0.extend_from_slice(bytes);
        let Some(end) = self.0.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.0.split_off(end + 1);
        let whole = std::mem::replace(&mut self.0, rest);
        whole[..end].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_went() {
        for text in ["", "a\tb\\c\nd\re", "\\N", "ü \u{8}"] {
            let mut line = Vec::new();
            escape(text, &mut line);
            assert!(!line.contains(&b'\t') && !line.contains(&b'\n'));
            assert_eq!(unescape(std::str::from_utf8(&line).unwrap()).as_deref(), Some(text));
        }
        assert_eq!((unescape("\\N"), hex(&[0, 255])), (None, "00ff".to_owned()));
        assert_eq!(time("1500000"), "1970-01-01T00:00:01.500000Z");
    }

    #[test]
    fn json_is_compared_by_its_value() {
        let canonical = |text: &str| {
            let mut all = String::new();
            sorted(&serde_json::from_str(text).unwrap(), &mut all);
            all
        };
        assert_eq!(canonical(r#"{"b":[1,1.50],"a":"\u00fc"}"#), canonical(r#"{"a": "ü", "b": [1, 1.5]}"#));
        assert_ne!(canonical("[1,2]"), canonical("[2,1]"));
    }

    #[test]
    fn sums_do_not_depend_on_order_and_lines_on_chunks() {
        let digest = |rows: &[&str]| {
            let mut digest = Digest::default();
            rows.iter().for_each(|row| digest.add(row));
            digest
        };
        assert_eq!(digest(&["a", "b"]), digest(&["b", "a"]));
        assert_ne!(digest(&["a", "a"]), digest(&["b", "b"]));
        let mut lines = Lines::default();
        assert_eq!(lines.push(b"one\ntw"), vec![b"one".to_vec()]);
        assert_eq!(lines.push(b"o\n\n"), vec![b"two".to_vec(), b"".to_vec()]);
    }
}
