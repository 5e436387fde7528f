//! Imports (spec: imports-and-exports#imports, imports-and-exports#import-of-users).

use bailiwick_directory::imports::{Confirmation, Confirmed, Issue, Outcome, Preview, Row, Status};
use bailiwick_domain::org::OrgRef;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Body of a confirmation.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub struct ConfirmInput {
    /// Of the validation.
    #[schema(required = true, nullable = false)]
    pub import_id: Option<String>,
    /// Whether rows that exist already are overwritten; false unless given.
    pub r#override: Option<bool>,
    /// Users only: `{"<row_number>":{"organization_id":"…"}}` for ambiguous rows. What is not of this form is ignored.
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

/// An organization to choose.
#[derive(Debug, Serialize, ToSchema)]
pub struct CandidateOutput {
    /// Id.
    pub logto_id: String,
    /// Name.
    pub name: String,
    /// `distributor`, `reseller` or `customer`.
    pub r#type: &'static str,
}

impl From<OrgRef> for CandidateOutput {
    fn from(o: OrgRef) -> CandidateOutput {
        CandidateOutput { logto_id: o.id.to_string(), name: o.name, r#type: o.org_type.as_str() }
    }
}

/// Something to say about a cell.
#[derive(Debug, Serialize, ToSchema)]
pub struct IssueOutput {
    /// Column.
    pub field: &'static str,
    /// Code.
    pub message: &'static str,
    /// Of a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Of an error: what the cell said, unless it said nothing. With `duplicate_in_csv` the row where it stands first
    /// follows, with `already_used` the address of the other user; `unknown` and `insufficient_privileges` name roles.
    pub values: Vec<String>,
    /// With `ambiguous` only: the organizations of that name. The choice is sent with the confirmation.
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
    /// The header is 1.
    pub row_number: usize,
    /// `valid`, `warning`, `ambiguous` or `error`.
    pub status: &'static str,
    /// Cells by column.
    #[schema(value_type = Object)]
    pub data: Map<String, Value>,
    /// What keeps it from being imported; of an `ambiguous` row only until an organization is chosen.
    pub errors: Vec<IssueOutput>,
    /// What to look at before it is.
    pub warnings: Vec<IssueOutput>,
}

impl From<Row> for RowOutput {
    fn from(row: Row) -> RowOutput {
        RowOutput {
            row_number: row.number,
            status: match row.status() {
                Status::Valid => "valid",
                Status::Warning => "warning",
                Status::Ambiguous => "ambiguous",
                Status::Error => "error",
            },
            data: row.data,
            errors: row.errors.into_iter().map(IssueOutput::from).collect(),
            warnings: row.warnings.into_iter().map(IssueOutput::from).collect(),
        }
    }
}

/// What a validation found.
#[derive(Debug, Serialize, ToSchema)]
pub struct ImportPreview {
    /// For the confirmation, within 30 minutes.
    pub import_id: String,
    /// All rows.
    pub total_rows: usize,
    /// Rows that would be created.
    pub valid_rows: usize,
    /// Rows that cannot be imported.
    pub error_rows: usize,
    /// Rows that exist already.
    pub warning_rows: usize,
    /// Rows whose organization must be chosen; only of users.
    pub ambiguous_rows: usize,
    /// All rows in order.
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

/// What became of a row.
#[derive(Debug, Serialize, ToSchema)]
pub struct ResultOutput {
    /// The header is 1.
    pub row_number: usize,
    /// `created`, `updated`, `skipped` or `failed`.
    pub status: &'static str,
    /// Of what was created or updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `error`, `warning_not_overridden` or `ambiguous_unresolved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Why a row failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of all rows.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ImportResult {
    /// New objects.
    pub created: usize,
    /// Objects overwritten.
    pub updated: usize,
    /// Rows left out.
    pub skipped: usize,
    /// Rows refused.
    pub failed: usize,
    /// All rows in order.
    pub results: Vec<ResultOutput>,
}

impl From<Confirmed> for ImportResult {
    fn from(confirmed: Confirmed) -> ImportResult {
        let mut out = ImportResult::default();
        for (row_number, outcome) in confirmed.0 {
            let (count, status) = match &outcome {
                Outcome::Created(_) => (&mut out.created, "created"),
                Outcome::Updated(_) => (&mut out.updated, "updated"),
                Outcome::Skipped(_) => (&mut out.skipped, "skipped"),
                Outcome::Failed(_) => (&mut out.failed, "failed"),
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
