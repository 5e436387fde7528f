//! Imports (spec: imports-and-exports#imports, imports-and-exports#import-of-users).

use bailiwick_directory::imports::{Confirmation, Confirmed, Issue, Outcome, Preview, Row, Status};
use bailiwick_domain::{OrgType, org::OrgRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The confirmation of an import.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConfirmInput {
    /// The `import_id` of the preview, valid once and for 30 minutes.
    #[schema(required = true, nullable = false)]
    pub import_id: Option<String>,
    /// Whether to overwrite objects that exist already; false by default.
    pub r#override: Option<bool>,
    /// Chosen organizations of ambiguous rows, as `{"<row_number>":{"organization_id":"…"}}`. Only for users; anything
    /// of another form is ignored.
    #[schema(value_type = Option<Object>)]
    pub resolutions: Value,
}

impl From<ConfirmInput> for Confirmation {
    fn from(input: ConfirmInput) -> Confirmation {
        let chosen =
            |(row, choice): (String, Value)| Some((row, choice["organization_id"].as_str()?.to_owned()));
        let resolutions = match input.resolutions {
            Value::Object(rows) => rows.into_iter().filter_map(chosen).collect(),
            _ => Default::default(),
        };
        Confirmation {
            import_id: input.import_id.unwrap_or_default(),
            overrides: input.r#override.unwrap_or_default(),
            resolutions,
        }
    }
}

/// An organization that can be chosen for an ambiguous row.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateOutput {
    /// Id of the organization.
    pub logto_id: String,
    /// Name of the organization.
    pub name: String,
    /// Level of the organization: `distributor`, `reseller` or `customer`.
    #[schema(extensions(("x-enum" = json!(OrgType::FAMILIES.map(OrgType::as_str)))))]
    pub r#type: &'static str,
}

impl From<OrgRef> for CandidateOutput {
    fn from(o: OrgRef) -> CandidateOutput {
        CandidateOutput { logto_id: o.id.to_string(), name: o.name, r#type: o.org_type.as_str() }
    }
}

/// An error or warning about one cell.
#[derive(Debug, Serialize, ToSchema)]
pub struct IssueOutput {
    /// Name of the column.
    pub field: &'static str,
    /// Code of the error or warning, such as `required` or `already_exists`.
    pub message: &'static str,
    /// Text of the cell. Present only in warnings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Of an error: text of the cell, if any. `duplicate_in_csv` adds the number of the row that has the value first,
    /// `already_used` the e-mail address of the other user. `unknown` and `insufficient_privileges` name roles.
    pub values: Vec<String>,
    /// Organizations of that name, at most 50. Present only with `ambiguous`; the choice is sent with the confirmation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateOutput>,
}

impl From<Issue> for IssueOutput {
    fn from(issue: Issue) -> IssueOutput {
        IssueOutput {
            field: issue.field,
            message: issue.message,
            value: issue.value,
            values: issue.values,
            candidates: issue.candidates.into_iter().map(CandidateOutput::from).collect(),
        }
    }
}

/// A row of the file.
#[derive(Debug, Serialize, ToSchema)]
pub struct RowOutput {
    /// Number of the row in the file. The header is row 1.
    pub row_number: usize,
    /// Result: `valid`, `warning` (the object exists already), `ambiguous` (an organization must be chosen) or `error`.
    #[schema(value_type = String, extensions(("x-enum" = json!(Status::ALL))))]
    pub status: Status,
    /// Texts of the cells by column. Rows of users also have `organization_id` and `role_ids`.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
    /// Why the row cannot be imported. An `ambiguous` row can be, once an organization is chosen.
    pub errors: Vec<IssueOutput>,
    /// What to check before the import.
    pub warnings: Vec<IssueOutput>,
}

impl From<Row> for RowOutput {
    fn from(row: Row) -> RowOutput {
        RowOutput {
            row_number: row.number,
            status: row.status(),
            data: row.data,
            errors: row.errors.into_iter().map(IssueOutput::from).collect(),
            warnings: row.warnings.into_iter().map(IssueOutput::from).collect(),
        }
    }
}

/// The result of checking a file before its import.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportPreview {
    /// Id for the confirmation, valid once and for 30 minutes.
    pub import_id: String,
    /// Number of all rows.
    pub total_rows: usize,
    /// Number of rows that would create an object.
    pub valid_rows: usize,
    /// Number of rows that cannot be imported.
    pub error_rows: usize,
    /// Number of rows whose object exists already.
    pub warning_rows: usize,
    /// Number of rows whose organization must be chosen. Only users have such rows.
    pub ambiguous_rows: usize,
    /// All rows, in the order of the file.
    pub rows: Vec<RowOutput>,
}

impl From<Preview> for ImportPreview {
    fn from(preview: Preview) -> ImportPreview {
        let count = |status| preview.rows.iter().filter(|row| row.status() == status).count();
        ImportPreview {
            import_id: preview.import_id.to_string(),
            total_rows: preview.rows.len(),
            valid_rows: count(Status::Valid),
            error_rows: count(Status::Error),
            warning_rows: count(Status::Warning),
            ambiguous_rows: count(Status::Ambiguous),
            rows: preview.rows.into_iter().map(RowOutput::from).collect(),
        }
    }
}

/// The result of a row.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RowResult {
    /// An object was created.
    Created,
    /// An object was overwritten.
    Updated,
    /// The row was left out.
    Skipped,
    /// The row was refused while it was written.
    Failed,
}

/// What became of a row.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResultOutput {
    /// Number of the row in the file. The header is row 1.
    pub row_number: usize,
    /// Result: `created`, `updated`, `skipped` or `failed`.
    pub status: RowResult,
    /// Id of the object that was created or updated. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why the row was skipped: `error`, `warning_not_overridden` or `ambiguous_unresolved`. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Why the row failed. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The result of an import.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ImportResult {
    /// Number of objects that were created.
    pub created: usize,
    /// Number of objects that were overwritten.
    pub updated: usize,
    /// Number of rows that were left out.
    pub skipped: usize,
    /// Number of rows that were refused while they were written.
    pub failed: usize,
    /// All rows, in the order of the file.
    pub results: Vec<ResultOutput>,
}

impl From<Confirmed> for ImportResult {
    fn from(confirmed: Confirmed) -> ImportResult {
        let mut out = ImportResult::default();
        for (row_number, outcome) in confirmed.0 {
            let (count, status) = match &outcome {
                Outcome::Created(_) => (&mut out.created, RowResult::Created),
                Outcome::Updated(_) => (&mut out.updated, RowResult::Updated),
                Outcome::Skipped(_) => (&mut out.skipped, RowResult::Skipped),
                Outcome::Failed(_) => (&mut out.failed, RowResult::Failed),
            };
            *count += 1;
            let mut result = ResultOutput { row_number, status, id: None, reason: None, error: None };
            match outcome {
                Outcome::Created(id) | Outcome::Updated(id) => result.id = Some(id.to_string()),
                Outcome::Skipped(reason) => result.reason = Some(reason),
                Outcome::Failed(error) => result.error = Some(error),
            }
            out.results.push(result);
        }
        out
    }
}
