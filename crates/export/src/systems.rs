//! Systems (spec: systems#export).

use crate::{
    Fault,
    report::{Column, Cover, Faces, Form, draw},
    table::{CsvColumn, csv},
    text::{cut, minute, second},
};
use bailiwick_domain::{System, SystemStatus};

/// Columns of the CSV.
const COLUMNS: &[CsvColumn<Row>] = &[
    ("Name", |row| row.system.name.as_str().into()),
    ("Type", |row| row.system.system_type.as_deref().unwrap_or_default().into()),
    ("Version", |row| row.system.version.as_str().into()),
    ("Status", |row| row.status.as_str().into()),
    ("FQDN", |row| row.system.fqdn.as_str().into()),
    ("IPv4 Address", |row| row.system.ipv4_address.as_str().into()),
    ("IPv6 Address", |row| row.system.ipv6_address.as_str().into()),
    ("System Key", |row| row.system.shown_key().into()),
    ("Notes", |row| row.system.notes.as_str().into()),
    ("Created At", |row| second(row.system.created_at).into()),
    ("Organization", |row| row.system.organization.name.as_str().into()),
    ("Organization Type", |row| row.system.organization.org_type.as_str().into()),
    ("Created By", |row| row.system.created_by.name.as_str().into()),
    ("Creator Email", |row| row.system.created_by.email.as_str().into()),
    ("Creator Organization", |row| row.system.created_by.organization_name.as_str().into()),
];
/// Characters of the notes on a page.
const NOTES: usize = 120;

/// A system with its status at the time of the export.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub system: System,
    /// Its status now.
    pub status: SystemStatus,
}

/// A part of the CSV file; the first has the header.
///
/// # Errors
/// As [`csv()`].
pub fn table(rows: impl IntoIterator<Item = Row>, has_header: bool) -> Result<Vec<u8>, Fault> {
    csv(COLUMNS, rows, has_header)
}

/// Three columns: name and type; key, age and addresses; organization and notes.
const FORM: Form = Form { columns: &[Column::left(0.25), Column::left(0.36), Column::left(0.39)], lines: 5 };

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
        let s = &row.system;
        card.heading(0..1, s.name.as_str(), s.id);
        card.value(0, 1, "Type", or_dash(s.system_type.as_deref().unwrap_or_default()));
        card.value(0, 2, "Version", or_dash(&s.version));
        card.value(0, 3, "Status", row.status.as_str());
        card.value(1, 0, "Key", or_dash(row.system.shown_key()));
        card.value(1, 1, "Created At", minute(s.created_at));
        card.value(1, 2, "FQDN", or_dash(&s.fqdn));
        card.value(1, 3, "IPv4", or_dash(&s.ipv4_address));
        card.value(1, 4, "IPv6", or_dash(&s.ipv6_address));
        let organization = format!("{} ({})", s.organization.name, s.organization.org_type.as_str());
        card.value(2, 0, "Organization", organization);
        card.value(2, 1, "By", format!("{} ({})", s.created_by.name, s.created_by.email));
        card.paragraph(2, 2..5, "Notes", or_dash(&cut(s.notes.trim(), NOTES)));
    })
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}
