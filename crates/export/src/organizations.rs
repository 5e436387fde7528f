//! Distributors, resellers and customers (spec: organizations#stats).

use crate::{
    Fault,
    report::{Card, Column, Cover, Faces, Form, Style, draw},
    table::{CsvColumn, csv},
    text::{cut, minute, second, second_or_empty},
};
use bailiwick_domain::{OrgId, Ts, org::Details};

/// Columns of the CSV.
const COLUMNS: &[CsvColumn<Row>] = &[
    ("Name", |row| row.details.name.as_str().into()),
    ("Description", |row| row.details.description.as_str().into()),
    ("Custom Data", |row| row.custom_data.as_str().into()),
    ("Created At", |row| second(row.created_at).into()),
    ("Updated At", |row| second(row.updated_at).into()),
    ("Logto Synced At", |row| second_or_empty(row.synced_at).into()),
];
/// Characters of a description on a page.
const DESCRIPTION: usize = 60;

/// An organization as an export shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub id: OrgId,
    /// What people write of it.
    pub details: Details,
    /// VAT number.
    pub vat: Option<String>,
    /// The object that other answers show, as JSON text; empty = none.
    pub custom_data: String,
    /// Creation.
    pub created_at: Ts,
    /// Last change.
    pub updated_at: Ts,
    /// When it was last synced to an identity provider.
    pub synced_at: Option<Ts>,
}

/// A part of the CSV file; the first has the header. The last column has values only if organizations are synced to an
/// identity provider.
///
/// # Errors
/// As [`csv()`].
pub fn table(rows: impl IntoIterator<Item = Row>, has_header: bool) -> Result<Vec<u8>, Fault> {
    csv(COLUMNS, rows, has_header)
}

/// Name and creation above description and VAT number.
const FORM: Form = Form { columns: &[Column::left(0.56), Column::left(0.24), Column::right(0.20)], lines: 2 };

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
        card.heading(0..2, row.details.name.as_str(), row.id);
        card.value(2, 0, "Created At", minute(row.created_at));
        describe(&row.details.description, card);
        card.value(1, 1, "VAT", row.vat.as_deref().filter(|vat| !vat.is_empty()).unwrap_or("N/A"));
    })
}

fn describe(description: &str, card: &mut Card) {
    if description.trim().is_empty() {
        card.text(0, 1, Style::Muted, "No description");
    } else {
        card.value(0, 1, "Description", cut(description, DESCRIPTION));
    }
}
