//! The rows that each export reads, and their conversion to rows of a file.

use super::{Asked, File, Format, ListName, Source, Stored, Written, export};
use crate::{
    Directory,
    organizations::{self as families, ListQuery},
    users as people,
};
use bailiwick_domain::{OrgType, Result, exact, org::shown_custom_data};
use bailiwick_export::{self as files, Cover, Faces};
use bailiwick_policy::{Caller, Scope};
use bailiwick_store::{
    organizations::{
        self as stored,
        export::{Extra, Line},
        list::Selected,
    },
    users as store_users,
    walk::{Step, WalkStep},
};
use serde_json::{Map, Value};

/// `GET /{p}/export`.
///
/// # Errors
/// 400 without a format or for a PDF with too many rows, 503 while too many exports are made or sent.
pub async fn organizations(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    query: ListQuery,
    request: Asked,
) -> Result<File> {
    let (scope, filter, order) = families::prepare(service, caller, family, &query).await?;
    let format = Format::parse(&request.format)?;
    let noun = match family {
        OrgType::Owner => "Owners",
        OrgType::Distributor => "Distributors",
        OrgType::Reseller => "Resellers",
        OrgType::Customer => "Customers",
    };
    let kind = ListName { noun, plural: family.plural() };
    // A card of the report has no place for them.
    let custom_data = format == Format::Csv;
    let source = Family { service: service.clone(), family, scope, filter, order, custom_data };
    export(service, caller, (kind, format), request.filters, source).await
}

struct Family {
    service: Directory,
    family: OrgType,
    scope: Scope,
    filter: stored::Filter,
    order: stored::Order,
    custom_data: bool,
}

impl Family {
    const fn selected(&self) -> Selected<'_> {
        Selected { family: self.family, scope: &self.scope, filter: &self.filter }
    }
}

impl Source for Family {
    type Line = Line;

    async fn read(&self, step: Step) -> Stored<WalkStep<Line>> {
        let logto = self.service.settings.identity.logto().map(|logto| logto.issuer.url.as_str());
        let extra = Extra { custom_data: self.custom_data, logto };
        stored::export::export(&self.service.platform.db, self.selected(), self.order, extra, &step).await
    }

    async fn count(&self) -> Stored<u64> {
        stored::list::count(&self.service.platform.db, self.selected()).await
    }

    fn table(&self, lines: Vec<Line>, has_header: bool) -> Written {
        files::organizations::table(lines.into_iter().map(organization), has_header)
    }

    fn report(&self, faces: &Faces, cover: &Cover, lines: Vec<Line>) -> Written {
        files::organizations::report(faces, cover, lines.into_iter().map(organization))
    }
}

fn organization(line: Line) -> files::organizations::Row {
    let updated = line.updated_by_org_id.map(|id| (id, line.updated_at));
    let shown = line.custom_data.map(|text| {
        // The column holds an object; any other value would show as none.
        let client: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
        let shown = shown_custom_data(client, line.org_type, line.parent_id, line.created_at, updated);
        exact::text(&Value::Object(shown))
    });
    files::organizations::Row {
        id: line.id,
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
    request: Asked,
) -> Result<File> {
    let (scope, filter, order) = people::prepare(service, caller, query)?;
    let format = Format::parse(&request.format)?;
    let kind = ListName { noun: "Users", plural: "users" };
    let source = Users { service: service.clone(), scope, filter, order };
    export(service, caller, (kind, format), request.filters, source).await
}

struct Users {
    service: Directory,
    scope: Scope,
    filter: store_users::Filter,
    order: store_users::Order,
}

impl Source for Users {
    type Line = store_users::export::Line;

    async fn read(&self, step: Step) -> Stored<WalkStep<Self::Line>> {
        store_users::export::export(&self.service.platform.db, &self.scope, &self.filter, self.order, &step)
            .await
    }

    async fn count(&self) -> Stored<u64> {
        store_users::list::count(&self.service.platform.db, &self.scope, &self.filter).await
    }

    fn table(&self, lines: Vec<Self::Line>, has_header: bool) -> Written {
        files::users::table(lines.into_iter().map(|line| self.user(line)), has_header)
    }

    fn report(&self, faces: &Faces, cover: &Cover, lines: Vec<Self::Line>) -> Written {
        files::users::report(faces, cover, lines.into_iter().map(|line| self.user(line)))
    }
}

impl Users {
    fn user(&self, line: store_users::export::Line) -> files::users::Row {
        // A role that has left the catalogue is not listed (spec: users#user-roles).
        let roles = line.role_ids.iter().filter_map(|id| self.service.platform.catalogue.user_role(id));
        files::users::Row {
            roles: roles.map(|role| role.name.clone()).collect(),
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
}
