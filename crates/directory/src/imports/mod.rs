//! CSV import of organizations and users (spec: imports-and-exports#imports, imports-and-exports#import-of-users):
//! validate a file, show what it would do, confirm.
//!
//! One engine serves the four families. [`bailiwick_platform::csv`] reads the file; a family decides for all rows
//! together what each would do ([`organizations`], [`users`]); confirming passes every row to the use case behind POST
//! or PUT, in a transaction of its own. Confirming trusts nothing of the validation: only the file is kept between the
//! two.
//!
//! To import another family, add a file with its columns and rows, a [`ImportKind`] and a [`Plan`].

mod confirm;
mod organizations;
mod session;
mod users;

pub use confirm::{Confirmation, Confirmed, Import, Outcome, confirm, start};
pub use session::purge_expired;

use crate::{Directory, organizations::OrganizationBody, users::UserBody};
use bailiwick_domain::{Error, OrgId, OrgType, Result, UserId, org::OrgRef};
use bailiwick_platform::{csv, limits};
use bailiwick_policy::{Action, Caller, NewOrganization, Parent, Resource, decide, gate};
use serde::Serialize;
use serde_json::{Map, Value};
use std::{collections::HashMap, time::Duration};
use tokio::sync::{Semaphore, SemaphorePermit};
use uuid::Uuid;

/// Largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 10_485_760;

/// Number in the file of the first data row.
const FIRST_ROW: usize = 2;
/// Concurrent reads of files and writes of imports in a process: both take long.
static READING: Semaphore = Semaphore::const_new(4);
static WRITING: Semaphore = Semaphore::const_new(4);
/// How long a request waits for a place.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The kind of rows in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// Distributors, resellers or customers.
    Organizations(OrgType),
    Users,
}

impl ImportKind {
    /// `distributors`, `resellers`, `customers` or `users`.
    pub const fn word(self) -> &'static str {
        match self {
            ImportKind::Organizations(family) => family.plural(),
            ImportKind::Users => "users",
        }
    }

    /// The columns of its file.
    pub const fn columns(self) -> &'static [&'static str] {
        match self {
            ImportKind::Organizations(_) => &organizations::COLUMNS,
            ImportKind::Users => &users::COLUMNS,
        }
    }

    /// Header and two fictitious rows.
    pub fn template(self) -> String {
        let rows = match self {
            ImportKind::Organizations(_) => organizations::EXAMPLES,
            ImportKind::Users => users::EXAMPLES,
        };
        format!("{}\n{rows}", self.columns().join(","))
    }
}

/// Something to say about a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Issue {
    /// Column.
    pub field: &'static str,
    /// Code that clients translate.
    pub message: &'static str,
    /// The value of a warning.
    pub value: Option<String>,
    /// The values of an error: the content of the cell, and the object it conflicts with.
    pub values: Vec<String>,
    /// Organizations to choose from.
    pub candidates: Vec<OrgRef>,
}

impl Issue {
    const fn new(field: &'static str, message: &'static str) -> Issue {
        Issue { field, message, value: None, values: Vec::new(), candidates: Vec::new() }
    }

    /// An issue with the content of the cell.
    fn of_cell(field: &'static str, message: &'static str, text: &str) -> Issue {
        Issue::new(field, message).with_values(vec![text.to_owned()])
    }

    fn with_values(self, values: Vec<String>) -> Issue {
        Issue { values, ..self }
    }
}

/// The status of a row, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Cannot be imported.
    Error,
    /// Names an organization, but several have this name.
    Ambiguous,
    /// Exists already.
    Warning,
    /// Will be created.
    Valid,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 4] = [Status::Error, Status::Ambiguous, Status::Warning, Status::Valid];
}

/// The code of the only issue that a client can resolve by a choice.
const AMBIGUOUS: &str = "ambiguous";

/// A row of the file and its issues.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The header is 1.
    pub number: usize,
    /// Cells by column, and the values they stand for.
    pub data: Map<String, Value>,
    /// Why it cannot be imported (yet).
    pub errors: Vec<Issue>,
    /// The values it would overwrite.
    pub warnings: Vec<Issue>,
}

impl Row {
    /// The status that follows from the issues.
    pub fn status(&self) -> Status {
        if self.errors.iter().any(|issue| issue.message != AMBIGUOUS) {
            Status::Error
        } else if !self.errors.is_empty() {
            Status::Ambiguous
        } else if !self.warnings.is_empty() {
            Status::Warning
        } else {
            Status::Valid
        }
    }
}

/// The effect of importing a row without errors.
#[derive(Debug)]
enum Plan {
    CreateOrganization(OrganizationBody),
    UpdateOrganization(OrgId, OrganizationBody),
    CreateUser(UserBody),
    UpdateUser(UserId, UserBody),
}

/// A row and, unless it has errors, the effect of importing it.
#[derive(Debug)]
struct Examined {
    row: Row,
    plan: Option<Plan>,
}

/// The organization chosen for an ambiguous row, by row number.
type Resolutions = HashMap<usize, OrgId>;

/// The result of a validation.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Names the file in the confirmation.
    pub import_id: Uuid,
    /// All rows in order.
    pub rows: Vec<Row>,
}

/// Whether the caller may import at all: the permission and the creation rule, checked before anything is read.
pub fn allow(caller: &Caller, kind: ImportKind) -> Result<()> {
    match kind {
        ImportKind::Organizations(family) => {
            let new = NewOrganization { family, parent: Parent::Own };
            decide(caller, Action::Create, &new).granted().map(drop)
        }
        ImportKind::Users => gate(caller, Action::Create, Resource::Users).map_err(Error::from),
    }
}

/// Checks a file against the present state and keeps it for its confirmation. Changes nothing else.
pub async fn validate(
    service: &Directory,
    caller: &Caller,
    kind: ImportKind,
    file: Vec<u8>,
) -> Result<Preview> {
    allow(caller, kind)?;
    // Held until the end: checking takes several times the memory of the file.
    let _permit = permit(&READING).await?;
    let read = move || -> Result<_> {
        let rows = csv::read(&file, kind.columns())?;
        let packed = zstd::bulk::compress(&file, 1).map_err(Error::internal)?;
        Ok((rows, packed, file.len()))
    };
    let (rows, packed, size) =
        service.platform.tasks.spawn_blocking(read).await.map_err(Error::internal)??;
    let examined = examine(service, caller, kind, &rows, &Resolutions::new()).await?;
    let import_id = session::save(service, caller, kind, packed, size).await?;
    Ok(Preview { import_id, rows: examined.into_iter().map(|e| e.row).collect() })
}

async fn examine(
    service: &Directory,
    caller: &Caller,
    kind: ImportKind,
    rows: &[Vec<String>],
    resolutions: &Resolutions,
) -> Result<Vec<Examined>> {
    match kind {
        ImportKind::Organizations(family) => organizations::examine(service, caller, family, rows).await,
        ImportKind::Users => users::examine(service, caller, rows, resolutions).await,
    }
}

/// Waits for one of the few places.
async fn permit(few: &'static Semaphore) -> Result<SemaphorePermit<'static>> {
    limits::acquire_within(few.acquire(), LONGEST_WAIT, "too many imports at the same time").await
}

/// The first row of each value; blank values are not counted.
struct FirstSeen<'a>(HashMap<&'a str, usize>);

impl<'a> FirstSeen<'a> {
    fn of(values: impl Iterator<Item = &'a str>) -> FirstSeen<'a> {
        let mut first = HashMap::new();
        for (index, value) in values.enumerate().filter(|(_, value)| !value.is_empty()) {
            first.entry(value).or_insert(index);
        }
        FirstSeen(first)
    }

    /// The error of a row that repeats the value of an earlier one; `sent` is the value as it is in the file.
    fn duplicate(&self, index: usize, value: &str, field: &'static str, sent: &str) -> Option<Issue> {
        let first = *self.0.get(value)?;
        let values = vec![sent.to_owned(), (first + FIRST_ROW).to_string()];
        (first < index).then(|| Issue::new(field, "duplicate_in_csv").with_values(values))
    }

    /// Each value once.
    fn values(&self) -> Vec<&'a str> {
        self.0.keys().copied().collect()
    }
}
