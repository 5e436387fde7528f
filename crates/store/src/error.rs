//! The errors of the store.

use bailiwick_domain::{Error, FieldError};

/// An error of the storage layer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An error of the engine.
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// A value could not be encoded.
    #[error("encoding a value: {0}")]
    Encode(sqlx::error::BoxDynError),
    /// A migration could not be applied.
    #[error(transparent)]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The schema is one that this program does not know.
    #[error("{0}")]
    Foreign(String),
    /// A file cannot be used as the database.
    #[error("{path}: {why}")]
    File {
        /// Which.
        path: String,
        /// The system's or SQLite's word for it.
        why: String,
    },
    /// PostgreSQL accepts no connections.
    #[error("PostgreSQL at {address}: {why}")]
    NotReached {
        /// Host, port and database.
        address: String,
        /// The text from the database or the network.
        why: String,
    },
    /// A row has a value that this version does not understand.
    #[error("unreadable row: {0}")]
    Corrupt(String),
    /// An earlier statement has ended the transaction.
    #[error("an earlier statement has ended the transaction")]
    Ended {
        /// Whether a retry can help, as far as the earlier error says.
        passes: bool,
    },
    /// A statement was put together wrongly.
    #[error("{0}")]
    Misuse(&'static str),
    /// The requested rows are larger than the reader accepts.
    #[error("the rows exceed the size limit")]
    TooHeavy,
    /// A database cannot be copied into another; the text is for the operator.
    #[error("{0}")]
    Transfer(String),
    /// The replica cannot be used; the text says why.
    #[error("the replica {0}")]
    Replica(&'static str),
    /// The SQLite file is in use by another process.
    #[error("{0}")]
    Locked(String),
}

/// Unique constraints a client can run into, by the name PostgreSQL gives and the columns SQLite names.
/// Field key and code are those of spec: conventions#validation-errors, organizations#create.
const UNIQUE: &[(&str, &str, &str, &str)] = &[
    ("users_username_unique", "users.username_key", "username", "already_exists"),
    ("users_email_unique", "users.email_key", "email", "already_exists"),
    ("organizations_distributor_vat_unique", "organizations.vat_key", "custom_data.vat", "already exists"),
    ("organizations_reseller_vat_unique", "organizations.vat_key", "custom_data.vat", "already exists"),
];

impl StoreError {
    /// The client's field of a violated unique constraint, if this is such an error.
    pub fn unique_field(&self) -> Option<FieldError> {
        let StoreError::Sql(sqlx::Error::Database(e)) = self else { return None };
        if !e.is_unique_violation() {
            return None;
        }
        let (name, message) = (e.constraint().unwrap_or(""), e.message());
        UNIQUE
            .iter()
            .find(|(pg, lite, ..)| *pg == name || message.contains(lite))
            .map(|(_, _, key, code)| FieldError::new(*key, *code))
    }

    /// Whether the same transaction may succeed when it is run again at once: it collided with another one, as the
    /// victim of a deadlock or by referring to a row that was removed meanwhile. Happens on PostgreSQL only.
    pub fn is_collision(&self) -> bool {
        let StoreError::Sql(sqlx::Error::Database(e)) = self else { return false };
        e.code().is_some_and(|code| matches!(&*code, "40P01" | "40001" | "23503"))
    }

    /// Whether the statement contained a text that PostgreSQL cannot store, directly or in JSON: one with U+0000.
    /// Callers that accept texts check for this themselves; this catches the cases they miss.
    fn is_invalid_text(&self) -> bool {
        let StoreError::Sql(sqlx::Error::Database(e)) = self else { return false };
        e.code().is_some_and(|code| matches!(&*code, "22021" | "22P05"))
    }

    /// Whether this process has closed its connections, because it is stopping.
    pub const fn is_closed(&self) -> bool {
        matches!(self, StoreError::Sql(sqlx::Error::PoolClosed))
    }

    /// Whether a retry can help: the database cannot be reached, is too busy, cannot write for the moment, or has
    /// chosen this transaction as the victim of a deadlock. When the response to a commit was lost, its outcome is
    /// unknown; that counts as such an error too.
    pub fn is_transient(&self) -> bool {
        match self {
            StoreError::Sql(e) => {
                matches!(
                    e,
                    sqlx::Error::Io(_)
                        | sqlx::Error::Tls(_)
                        | sqlx::Error::Protocol(_)
                        | sqlx::Error::PoolTimedOut
                        | sqlx::Error::PoolClosed
                        | sqlx::Error::WorkerCrashed
                        | sqlx::Error::BeginFailed
                        | sqlx::Error::InvalidSavePointStatement
                ) || matches!(e, sqlx::Error::Database(d) if d.code().is_some_and(|c| passes(&c)))
            }
            StoreError::Replica(_) => true,
            StoreError::Ended { passes } => *passes,
            _ => false,
        }
    }

    /// Whether the database could not write: it cannot be reached, or its disk is full or broken. An operator has to
    /// see to it; conflicts between transactions are not such a fault.
    pub fn is_write_fault(&self) -> bool {
        match self {
            StoreError::Sql(sqlx::Error::Database(e)) => e.code().is_some_and(|code| is_of_storage(&code)),
            StoreError::Sql(_) => self.is_transient() && !self.is_closed(),
            _ => false,
        }
    }
}

/// Whether this code of a database error says that it cannot write, or ends connections. The codes are those of
/// [`passes`].
fn is_of_storage(code: &str) -> bool {
    if code.len() == 5 {
        return matches!(&code[..2], "08" | "53" | "58") || code.starts_with("57P") || code == "25006";
    }
    // READONLY, IOERR, FULL, CANTOPEN.
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 8 | 10 | 13 | 14))
}

/// Whether a database error passes by itself, or once an operator has made room, without a change of the request.
///
/// PostgreSQL codes have five characters (PostgreSQL documentation, appendix A). SQLite writes numbers of at most four
/// digits; their lowest byte is the primary code (SQLite documentation, "Result and Error Codes").
fn passes(code: &str) -> bool {
    if code.len() == 5 {
        // Connection faults, a transaction that was rolled back, no resources, an operator's intervention, I/O errors.
        return matches!(&code[..2], "08" | "40" | "53" | "57" | "58")
            // A server that became a standby, an idle session or a transaction over its time limit, a lock that was not
            // available.
            || matches!(code, "25006" | "25P03" | "25P04" | "55P03");
    }
    // BUSY, LOCKED, READONLY (a file system that can only be read), IOERR, FULL, CANTOPEN.
    code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6 | 8 | 10 | 13 | 14))
}

impl From<StoreError> for Error {
    fn from(e: StoreError) -> Error {
        if let Some(field) = e.unique_field() {
            return Error::Invalid(vec![field]);
        }
        if e.is_invalid_text() {
            return Error::bad_request("texts cannot contain the character U+0000");
        }
        if e.is_transient() {
            return Error::Unavailable {
                message: "service temporarily unavailable".into(),
                log: e.to_string(),
            };
        }
        Error::internal(e)
    }
}

#[cfg(test)]
mod tests {
    use super::{StoreError, is_of_storage, passes};
    use bailiwick_domain::Error;

    #[test]
    fn transient_faults_differ_from_lasting_ones() {
        for code in [
            "08000", "08006", "08P01", "25006", "25P03", "40001", "40003", "40P01", "53100", "53200",
            "53300", "55P03", "57014", "57P01", "57P02", "57P03", "57P05", "58030", "5", "6", "8", "10",
            "13", "14", "776", "261", "517", "773", "1034", "6922",
        ] {
            assert!(passes(code), "{code}");
        }
        for code in [
            "22P02", "23505", "25P02", "42703", "55000", "XX000", "0A000", "1", "11", "19", "1555", "2067",
            "",
        ] {
            assert!(!passes(code), "{code}");
        }
    }

    #[test]
    fn write_faults_differ_from_conflicts() {
        for code in ["08006", "25006", "53100", "57P01", "58030", "8", "10", "13", "14", "778"] {
            assert!(passes(code) && is_of_storage(code), "{code}");
        }
        for code in ["23505", "40001", "40P01", "55P03", "57014", "5", "6", "19", ""] {
            assert!(!is_of_storage(code), "{code}");
        }
    }

    #[test]
    fn a_broken_connection_passes() {
        let io = |kind| StoreError::Sql(sqlx::Error::Io(std::io::Error::from(kind)));
        for broken in [
            io(std::io::ErrorKind::ConnectionReset),
            io(std::io::ErrorKind::UnexpectedEof),
            StoreError::Sql(sqlx::Error::Protocol("expected to read 5 bytes, got 0".to_owned())),
            StoreError::Sql(sqlx::Error::PoolTimedOut),
            StoreError::Sql(sqlx::Error::BeginFailed),
        ] {
            assert!(matches!(Error::from(broken), Error::Unavailable { .. }));
        }
        assert!(matches!(Error::from(StoreError::Sql(sqlx::Error::RowNotFound)), Error::Internal(_)));
    }
}
