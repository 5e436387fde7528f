//! Users (spec: users#export).

use crate::{
    Fault,
    report::{Column, Cover, Faces, Form, draw},
    table::{CsvColumn, csv},
    text::{cut, minute, second, second_or_empty},
};
use bailiwick_domain::Ts;

/// Columns of the CSV.
const COLUMNS: &[CsvColumn<Row>] = &[
    ("Username", |row| row.username.as_str().into()),
    ("Email", |row| row.email.as_str().into()),
    ("Name", |row| row.name.as_str().into()),
    ("Phone", |row| row.phone.as_deref().unwrap_or_default().into()),
    ("Organization", |row| row.organization.as_str().into()),
    ("User Roles", |row| row.roles.join(", ").into()),
    ("Status", |row| row.status().into()),
    ("Created At", |row| second(row.created_at).into()),
    ("Latest Login At", |row| second_or_empty(row.latest_login_at).into()),
    ("Suspended At", |row| second_or_empty(row.suspended_at).into()),
];
/// Characters of roles, e-mail and organization on a page.
const SHORT: usize = 40;

/// A user as an export shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// User name.
    pub username: String,
    pub email: String,
    /// Display name.
    pub name: String,
    /// Digits only.
    pub phone: Option<String>,
    /// Name of the user's organization.
    pub organization: String,
    /// Names of the user's roles.
    pub roles: Vec<String>,
    /// Creation.
    pub created_at: Ts,
    /// Last exchange.
    pub latest_login_at: Option<Ts>,
    /// Effective suspension.
    pub suspended_at: Option<Ts>,
    /// Whether the user or the user's organization is deleted.
    pub is_deleted: bool,
}

impl Row {
    const fn status(&self) -> &'static str {
        match (self.is_deleted, self.suspended_at) {
            (true, _) => "deleted",
            (false, Some(_)) => "suspended",
            (false, None) => "active",
        }
    }
}

/// A part of the CSV file; the first has the header.
///
/// # Errors
/// As [`csv()`].
pub fn table(rows: impl IntoIterator<Item = Row>, has_header: bool) -> Result<Vec<u8>, Fault> {
    csv(COLUMNS, rows, has_header)
}

/// User name and creation; name, roles, e-mail; phone, organization.
const FORM: Form =
    Form { columns: &[Column::left(0.33), Column::left(0.335), Column::left(0.335)], lines: 3 };

/// The PDF file.
///
/// # Errors
/// As [`draw`].
pub fn report(
    faces: &Faces,
    cover: &Cover,
    rows: impl ExactSizeIterator<Item = Row>,
) -> Result<Vec<u8>, Fault> {
    draw(faces, cover, &FORM, rows, |row, card| {
        card.heading(0..2, row.username.as_str(), &row.username);
        card.value(2, 0, "Created At", minute(row.created_at));
        card.value(0, 1, "Name", row.name.as_str());
        card.value(1, 1, "Roles", cut(&row.roles.join(", "), SHORT));
        card.value(2, 1, "Email", cut(&row.email, SHORT));
        card.value(0, 2, "Phone", row.phone.as_deref().filter(|p| !p.is_empty()).unwrap_or("N/A"));
        card.value(1, 2, "Organization", cut(&row.organization, SHORT));
    })
}
