//! The rows of an export of a family (spec: organizations#stats).

use super::{
    DetailsRow, Order, details,
    list::{Selected, walk_ids},
};
use crate::{
    Db, StoreError,
    sql::Q,
    time::TsCodec,
    tree::parse_type,
    walk::{self, Step, WalkStep},
};
use bailiwick_domain::{OrgId, OrgType, Ts, org::Details};
use uuid::Uuid;

/// The data of an organization that an export needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub id: OrgId,
    /// What people write of it.
    pub details: Details,
    /// As sent.
    pub vat: Option<String>,
    /// Client keys, as JSON text: parsed only when the line is written. None unless [`Extra::custom_data`].
    pub custom_data: Option<String>,
    /// Level.
    pub org_type: OrgType,
    /// None only for the owner.
    pub parent_id: Option<OrgId>,
    /// Creation.
    pub created_at: Ts,
    /// Last change.
    pub updated_at: Ts,
    /// Organization of the last updater.
    pub updated_by_org_id: Option<OrgId>,
    /// When it was last sent to the tenant.
    pub synced_at: Option<Ts>,
}

#[derive(sqlx_macros::FromRow)]
struct Row {
    id: Uuid,
    #[sqlx(flatten)]
    details: DetailsRow,
    vat: Option<String>,
    custom_data: Option<String>,
    r#type: String,
    parent_id: Option<Uuid>,
    created_at: TsCodec,
    updated_at: TsCodec,
    updated_by_org_id: Option<Uuid>,
    synced_at: Option<TsCodec>,
}

impl Row {
    fn weight(&self) -> usize {
        self.details.len() + self.custom_data.as_ref().map_or(0, String::len)
    }
}

impl TryFrom<Row> for Line {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Line, StoreError> {
        Ok(Line {
            id: OrgId(row.id),
            details: row.details.into(),
            vat: row.vat,
            custom_data: row.custom_data,
            org_type: parse_type(&row.r#type)?,
            parent_id: row.parent_id.map(OrgId),
            created_at: row.created_at.0,
            updated_at: row.updated_at.0,
            updated_by_org_id: row.updated_by_org_id.map(OrgId),
            synced_at: row.synced_at.map(|at| at.0),
        })
    }
}

/// The additional columns to read, beside those that every file shows.
#[derive(Clone, Copy, Debug)]
pub struct Extra<'a> {
    /// Client keys, by far the most of a row.
    pub custom_data: bool,
    /// The tenant whose sync times the rows show.
    pub logto: Option<&'a str>,
}

/// The next selected rows of a walk, as the list has them.
///
/// # Errors
/// [`StoreError::TooHeavy`] if several rows do not fit into the bytes of the step.
pub async fn export(
    db: &Db,
    selected: Selected<'_>,
    order: Order,
    extra: Extra<'_>,
    step: &Step,
) -> Result<WalkStep<Line>, StoreError> {
    let (ids, next) = walk_ids(db, selected, order, step).await?;
    let mut q = Q::new(concat!("SELECT o.id, ", details!(), ", o.vat, CAST("));
    q.push(if extra.custom_data { "o.custom_data" } else { "NULL" });
    q.push(
        " AS TEXT) AS custom_data, o.type, o.parent_id, o.created_at, o.updated_at, o.updated_by_org_id, \
         (SELECT l.synced_at FROM logto_organizations l WHERE l.organization_id = o.id AND l.issuer = ?) AS synced_at \
         FROM organizations o WHERE ",
    )
    .arg(extra.logto);
    q.one_of(db, "o.id", &ids);
    let rows = walk::rows(db, q, (&ids, step), |row: &Row| row.id, Row::weight).await?;
    Ok(WalkStep { rows: rows.into_iter().map(Line::try_from).collect::<Result<_, _>>()?, next })
}
