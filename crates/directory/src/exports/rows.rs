//! The rows that each export reads, and their conversion to rows of a file.

use super::{Asked, BOUNDS, File, Format, Job, Kind, bounded, render};
use crate::{
    Directory,
    organizations::{self as families, ListQuery},
    users as people,
};
use bailiwick_domain::{OrgType, Result, org::shown_custom_data};
use bailiwick_export as export;
use bailiwick_policy::Caller;
use bailiwick_store::{
    organizations::{
        export::{Extra, Line, export as lines},
        list::Selected,
    },
    users as store_users,
};
use serde_json::{Map, Value};

/// `GET /{p}/export`.
///
/// # Errors
/// 400 without a format or with too many rows, 503 while too many exports are made or sent.
pub async fn organizations(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: ListQuery,
    asked: Asked,
) -> Result<File> {
    let (scope, filter, order) = families::prepare(service, caller, family, &query).await?;
    let format = Format::parse(&asked.format)?;
    let noun = match family {
        OrgType::Owner => "Owners",
        OrgType::Distributor => "Distributors",
        OrgType::Reseller => "Resellers",
        OrgType::Customer => "Customers",
    };
    let kind = Kind { noun, plural: family.plural() };
    let admission = service.exports.admit(caller).await?;
    let extra = Extra {
        // A card of the report has no place for them.
        custom_data: format == Format::Csv,
        logto: service.settings.identity.logto().map(|logto| logto.issuer.url.as_str()),
    };
    let selected = Selected { family, scope: &scope, filter: &filter };
    let found = lines(&service.db, selected, order, BOUNDS, extra).await?;
    let rows = bounded(found, kind)?;
    render(
        service,
        caller,
        Job { kind, format, filters: asked.filters, admission },
        rows,
        |rows| export::organizations::table(rows.into_iter().map(organization)),
        |faces, cover, rows| export::organizations::report(faces, cover, rows.into_iter().map(organization)),
    )
    .await
}

fn organization(line: Line) -> export::organizations::Row {
    let updated = line.updated_by_org_id.map(|id| (id, line.updated_at));
    let shown = line.custom_data.map(|text| {
        // The column holds an object; any other value would show as none.
        let client: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
        let shown = shown_custom_data(client, line.org_type, line.parent_id, line.created_at, updated);
        Value::Object(shown).to_string()
    });
    export::organizations::Row {
        details: line.details,
        vat: line.vat,
        custom_data: shown.unwrap_or_default(),
        created_at: line.created_at,
        updated_at: line.updated_at,
        synced_at: line.synced_at,
    }
}

/// `GET /users/export`.
///
/// # Errors
/// As [`organizations`].
pub async fn users(
    service: &Directory,
    caller: &Caller,
    query: people::ListQuery,
    asked: Asked,
) -> Result<File> {
    let (scope, filter, order) = people::prepare(service, caller, query)?;
    let format = Format::parse(&asked.format)?;
    let kind = Kind { noun: "Users", plural: "users" };
    let admission = service.exports.admit(caller).await?;
    let found = store_users::export::export(&service.db, &scope, &filter, order, BOUNDS).await?;
    let rows = bounded(found, kind)?;
    let (service_too, service_again) = (service.clone(), service.clone());
    render(
        service,
        caller,
        Job { kind, format, filters: asked.filters, admission },
        rows,
        move |rows| export::users::table(rows.into_iter().map(|line| user(&service_too, line))),
        move |faces, cover, rows| {
            export::users::report(faces, cover, rows.into_iter().map(|line| user(&service_again, line)))
        },
    )
    .await
}

fn user(service: &Directory, line: store_users::export::Line) -> export::users::Row {
    // A role that has left the catalogue is not listed (spec: users#user-roles).
    let known = line.role_ids.iter().filter_map(|id| service.catalogue.user_role(id));
    export::users::Row {
        roles: known.map(|role| role.name.clone()).collect(),
        username: line.username,
        email: line.email,
        name: line.name,
        phone: line.phone,
        organization: line.organization,
        created_at: line.created_at,
        latest_login_at: line.latest_login_at,
        suspended_at: line.suspended_at,
        is_deleted: line.is_deleted,
    }
}
