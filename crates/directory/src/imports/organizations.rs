//! Rows of distributors, resellers and customers (spec: imports-and-exports#imports).

use super::{Examined, FIRST_ROW, FirstSeen, Issue, Plan, Row};
use crate::{
    Directory,
    organizations::{OrganizationBody, accept},
};
use bailiwick_domain::{
    Error, Language, OrgId, OrgType, Result,
    validate::{self, Vat, contact_address, imported_phone},
};
use bailiwick_policy::{Caller, Permission, Verb, resource_of, scope_for};
use bailiwick_store::organizations::lookup::{self, VatHolder};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The exact columns; the answer names them in this order.
pub(super) const COLUMNS: [&str; 10] = [
    "company_name",
    "description",
    "vat_number",
    "address",
    "city",
    "main_contact",
    "email",
    "phone",
    "language",
    "notes",
];

/// Sample data only: reserved names, and numbers that no register assigns.
pub(super) const EXAMPLES: &str = "\
Example One Srl,Office supplies,IT99999999991,Via Esempio 1,Torino,Anna Esempio,info@one.example,+39 011 5550100,it,
Example Two Ltd,,IT99999999992,\"2 Sample Street, Floor 3\",London,John Sample,info@two.example,+44 20 5550 0199,en,Call before noon
";

const VAT: &str = "vat_number";
/// Positions in [`COLUMNS`] of those that are not keys of `custom_data` by the same name.
const NAME_AT: usize = 0;
const DESCRIPTION_AT: usize = 1;
const VAT_AT: usize = 2;
const LANGUAGE_AT: usize = 8;

/// Checks all rows with one read of the existing organizations.
pub(super) async fn examine(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    rows: &[Vec<String>],
) -> Result<Vec<Examined>> {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| with_language(row.clone(), service.settings.language)).collect();
    let checked: Vec<(OrganizationBody, Vec<Issue>)> = rows.iter().map(|row| checked(row)).collect();
    // An invalid number is not compared.
    let key =
        |(row, (_, errors)): (&Vec<String>, &(_, Vec<Issue>))| match errors.iter().any(|e| e.field == VAT) {
            true => String::new(),
            false => matched_key(family, cell(row, VAT_AT)),
        };
    let keys: Vec<String> = rows.iter().zip(&checked).map(key).collect();
    let first_seen = FirstSeen::of(keys.iter().map(String::as_str));
    let holders = holders(service, caller, family, &first_seen.values()).await?;
    let examined = rows.iter().zip(&keys).zip(checked).enumerate().map(|(index, ((row, key), checked))| {
        let (body, mut errors) = checked;
        let mut warnings = Vec::new();
        let mut existing_id = None;
        let vat = cell(row, VAT_AT);
        errors.extend(first_seen.duplicate(index, key, VAT, vat));
        match holders.get(key.as_str()) {
            Some(holder) if holder.is_deleted => errors.push(Issue::of_cell(VAT, "archived", vat)),
            Some(holder) => {
                warnings.push(Issue { value: Some(vat.to_owned()), ..Issue::new(VAT, "already_exists") });
                existing_id = Some(holder.id);
            }
            None => {}
        }
        errors.sort_by_key(|issue| COLUMNS.iter().position(|column| *column == issue.field));
        let plan = errors.is_empty().then(|| match existing_id {
            Some(id) => Plan::UpdateOrganization(id, body),
            None => Plan::CreateOrganization(body),
        });
        Examined { row: Row { number: index + FIRST_ROW, data: data(row), errors, warnings }, plan }
    });
    Ok(examined.collect())
}

/// The body of a row, and the problems of the row itself.
fn checked(row: &[String]) -> (OrganizationBody, Vec<Issue>) {
    let body = body(row);
    let errors = cell_errors(row, &body);
    (body, errors)
}

fn cell(row: &[String], at: usize) -> &str {
    row.get(at).map(String::as_str).unwrap_or_default()
}

/// The language in lower case, the default where the cell is empty.
fn with_language(mut row: Vec<String>, default: Language) -> Vec<String> {
    if let Some(language) = row.get_mut(LANGUAGE_AT) {
        *language =
            if language.is_empty() { default.code().to_owned() } else { language.to_ascii_lowercase() };
    }
    row
}

/// The form in which VAT numbers are compared. A customer's number of zeros stands for "none" and matches no other.
fn matched_key(family: OrgType, vat: &str) -> String {
    let key = Vat::key_of(vat);
    let is_placeholder = family == OrgType::Customer && key.bytes().all(|b| b == b'0');
    if is_placeholder { String::new() } else { key }
}

fn data(row: &[String]) -> Map<String, Value> {
    COLUMNS.iter().zip(row).map(|(column, cell)| ((*column).to_owned(), Value::from(cell.as_str()))).collect()
}

/// The body that POST and PUT take.
fn body(row: &[String]) -> OrganizationBody {
    let mut custom_data = Map::new();
    for (at, (column, cell)) in COLUMNS.iter().zip(row).enumerate() {
        match at {
            NAME_AT | DESCRIPTION_AT => {}
            VAT_AT => drop(custom_data.insert("vat".to_owned(), Value::from(cell.as_str()))),
            _ => drop(custom_data.insert((*column).to_owned(), Value::from(cell.as_str()))),
        }
    }
    OrganizationBody {
        name: Some(cell(row, NAME_AT).to_owned()),
        description: Some(cell(row, DESCRIPTION_AT).to_owned()),
        custom_data: Some(custom_data),
        ..OrganizationBody::default()
    }
}

/// The problems of the row itself: first those that the JSON operations report for the same values, then those that
/// only apply to files; one issue for each cell.
fn cell_errors(row: &[String], body: &OrganizationBody) -> Vec<Issue> {
    let mut errors: Vec<Issue> = Vec::new();
    if let Err(Error::Invalid(fields)) = accept(body.clone()) {
        for field in fields {
            let key = match field.key.as_str() {
                "name" => "company_name",
                "custom_data.vat" => VAT,
                key => key.trim_start_matches("custom_data."),
            };
            // Only a cell that is itself too long makes the whole too long.
            let Some(at) = COLUMNS.iter().position(|column| *column == key) else { continue };
            errors.push(match field.message.as_str() {
                "required" | "cannot_be_empty" => Issue::new(COLUMNS[at], "required"),
                "too_long" => Issue::of_cell(COLUMNS[at], "too_long", cell(row, at)),
                _ => Issue::of_cell(COLUMNS[at], "invalid_format", cell(row, at)),
            });
        }
    }
    for (column, value) in COLUMNS.into_iter().zip(row) {
        let rule = match column {
            "description" => validate::text(value, 500),
            "address" | "city" => validate::text(value, validate::MAX_NAME_CHARS),
            "main_contact" => validate::line(value, validate::MAX_NAME_CHARS),
            "notes" => validate::text(value, 1000),
            "email" => contact_address(value),
            "phone" => imported_phone(value).map(drop),
            "language" if Language::parse(value).is_none() => Err("invalid_format"),
            _ => Ok(()),
        };
        if let Err(message) = rule
            && !errors.iter().any(|issue| issue.field == column)
        {
            errors.push(Issue::of_cell(column, message, value));
        }
    }
    errors
}

/// For each number, the organization that an override would change; a deleted one only if there is no live one. For
/// customers, only children of the caller's own organization count (spec: imports-and-exports#imports).
async fn holders(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    keys: &[&str],
) -> Result<HashMap<String, VatHolder>> {
    let permission = resource_of(family).and_then(|resource| Permission::of(Verb::Manage, resource));
    let permission = permission.ok_or_else(|| Error::internal("a family without a permission"))?;
    let is_customer = family == OrgType::Customer;
    let parent: Option<OrgId> = caller.org().map(|o| o.id).filter(|_| is_customer);
    let scope = scope_for(caller, permission);
    let stored = lookup::holders_of_vats(&service.platform.db, &scope, family, parent, keys).await?;
    let mut holders: HashMap<String, VatHolder> = HashMap::new();
    for holder in stored.into_iter().filter(|holder| !(is_customer && holder.is_deleted)) {
        let previous = holders.get(&holder.key);
        if previous.is_none_or(|previous| previous.is_deleted) {
            holders.insert(holder.key.clone(), holder);
        }
    }
    Ok(holders)
}
