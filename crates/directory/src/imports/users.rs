//! Rows of users (spec: imports-and-exports#import-of-users).

use super::{AMBIGUOUS, Examined, FIRST_ROW, FirstSeen, Issue, Plan, Resolutions, Row};
use crate::{Directory, users::UserBody};
use bailiwick_domain::{
    OrgId, OrgType, Result,
    fold::fold,
    org::OrgRef,
    validate::{self, Email, imported_phone, is_too_long},
};
use bailiwick_identity::auth::judged_user;
use bailiwick_policy::{Action, Caller, Permission, Refusal, Scope, decide, may_grant, scope_for};
use bailiwick_store::{
    organizations::lookup::{self as organizations, Named},
    users::{Placed, lookup},
};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The exact columns; the answer names them in this order.
pub(super) const COLUMNS: [&str; 5] = [EMAIL, NAME, PHONE, COMPANY, ROLES];

/// Sample data only: reserved names.
pub(super) const EXAMPLES: &str = "\
anna@one.example,Anna Esempio,+39 011 5550100,Example One Srl,Admin
john@two.example,John Sample,,Example Two Ltd,Support;Reader
";

const EMAIL: &str = "email";
const NAME: &str = "name";
const PHONE: &str = "phone";
const COMPANY: &str = "company_name";
const ROLES: &str = "roles";
/// The refusal of POST and PUT for a suspended organization (spec: users#create).
const NOT_ACTIVE: &str = "organization is not active";
/// Organizations of one name that are offered as choices.
const CANDIDATES: i64 = 50;
/// Longest list of roles, in characters.
const MAX_ROLES_CHARS: usize = 1000;

/// A row with its cells checked one by one.
struct Cells<'a> {
    email: &'a str,
    name: &'a str,
    phone: &'a str,
    company: &'a str,
    roles: &'a str,
    /// Folded address; empty unless it is right.
    email_key: String,
    /// Digits; empty unless there are any.
    phone_key: String,
    /// Folded name; empty unless it is right.
    company_key: String,
    /// Keys of the roles that exist.
    role_ids: Vec<String>,
    errors: Vec<Issue>,
}

/// The stored data that concerns any of the rows.
struct ExistingData {
    companies: HashMap<String, Vec<Named>>,
    chosen: HashMap<OrgId, Named>,
    users: HashMap<String, Placed>,
    deleted: HashSet<String>,
    /// With the address of each.
    phones: HashMap<String, String>,
}

/// Checks all rows with one read of the existing organizations and users.
pub(super) async fn examine(
    service: &Directory,
    caller: &Caller,
    rows: &[Vec<String>],
    resolutions: &Resolutions,
) -> Result<Vec<Examined>> {
    let rows: Vec<Cells<'_>> = rows.iter().map(|row| Cells::of(service, row)).collect();
    let emails = FirstSeen::of(rows.iter().map(|row| row.email_key.as_str()));
    let phones = FirstSeen::of(rows.iter().map(|row| row.phone_key.as_str()));
    let companies = FirstSeen::of(rows.iter().map(|row| row.company_key.as_str()));
    let scope = scope_for(caller, Permission::ManageUsers);
    let existing =
        ExistingData::look_up(service, &scope, [&emails, &phones, &companies], resolutions).await?;
    let examined = rows.iter().enumerate().map(|(index, row)| {
        let chosen = resolutions.get(&(index + FIRST_ROW)).and_then(|id| existing.chosen.get(id));
        let company = row.company(&existing, chosen);
        let mut errors = row.errors.clone();
        errors.extend(emails.duplicate(index, &row.email_key, EMAIL, row.email));
        let present = existing.users.get(&row.email_key).filter(|placed| !placed.standing.deleted);
        if service.identity.logto.is_some() && !row.keeps_phone(present) {
            errors.extend(phones.duplicate(index, &row.phone_key, PHONE, row.phone));
        }
        errors.extend(row.occupied(service, caller, &existing, present));
        if let Err(issue) = &company {
            errors.extend(issue.clone());
        }
        let company = company.as_ref().ok();
        // As with PUT, a user may stay in a suspended organization.
        let is_moving =
            |to: &Named| present.is_none_or(|placed| placed.user.organization.id != to.organization.id);
        if company.is_some_and(|company| company.is_suspended && is_moving(company)) {
            errors.push(Issue::of_cell(COMPANY, NOT_ACTIVE, row.company));
        }
        let organization = company.map(|company| &company.organization);
        errors.extend(organization.and_then(|o| row.ungrantable(service, caller, o.org_type)));
        errors.sort_by_key(|issue| COLUMNS.iter().position(|column| *column == issue.field));
        let exists = Issue { value: Some(row.email.to_owned()), ..Issue::new(EMAIL, "already_exists") };
        let warnings = present.map(|_| exists).into_iter().collect();
        let plan = organization.filter(|_| errors.is_empty()).map(|o| row.plan(present, o.id));
        let row = Row { number: index + FIRST_ROW, data: row.data(organization), errors, warnings };
        Examined { row, plan }
    });
    Ok(examined.collect())
}

impl ExistingData {
    /// A fixed number of statements, whatever the number of rows.
    async fn look_up(
        service: &Directory,
        scope: &Scope,
        [emails, phones, companies]: [&FirstSeen<'_>; 3],
        resolutions: &Resolutions,
    ) -> Result<ExistingData> {
        let db = &service.platform.db;
        let emails = emails.values();
        let mut by_name: HashMap<String, Vec<Named>> = HashMap::new();
        for organization in organizations::by_names(db, scope, &companies.values(), CANDIDATES).await? {
            by_name.entry(organization.key.clone()).or_default().push(organization);
        }
        let ids: HashSet<OrgId> = resolutions.values().copied().collect();
        let ids: Vec<OrgId> = ids.into_iter().take(bailiwick_platform::csv::MAX_ROWS).collect();
        let chosen = organizations::by_ids(db, scope, &ids).await?;
        let users = lookup::by_emails(db, scope, &emails).await?;
        Ok(ExistingData {
            companies: by_name,
            chosen: chosen.into_iter().map(|named| (named.organization.id, named)).collect(),
            users: users.into_iter().map(|placed| (Email::key_of(&placed.user.email), placed)).collect(),
            deleted: lookup::deleted_emails(db, scope, &emails).await?.into_iter().collect(),
            // Without that provider, numbers are shared.
            phones: match service.identity.logto {
                Some(_) => lookup::holders_of_phones(db, scope, &phones.values()).await?,
                None => HashMap::new(),
            },
        })
    }
}

impl<'a> Cells<'a> {
    /// Checks each cell on its own, with the rules of POST.
    fn of(service: &Directory, row: &'a [String]) -> Cells<'a> {
        let cell = |at: usize| row.get(at).map(String::as_str).unwrap_or_default();
        let [email, name, phone, company, roles] = std::array::from_fn(cell);
        let mut errors = Vec::new();
        let email_key = validate::email(email).map(|address| address.key().to_owned());
        let phone_key = imported_phone(phone).map(Option::unwrap_or_default);
        let company_key = validate::display_name(company).map(|()| fold(company));
        for (field, text, code) in [
            (EMAIL, email, email_key.as_ref().err()),
            (NAME, name, validate::display_name(name).as_ref().err()),
            (PHONE, phone, phone_key.as_ref().err()),
            (COMPANY, company, company_key.as_ref().err()),
        ] {
            match code {
                None => {}
                Some(&"required" | &"cannot_be_empty") => errors.push(Issue::new(field, "required")),
                Some(&"too_long") => errors.push(Issue::of_cell(field, "too_long", text)),
                Some(_) => errors.push(Issue::of_cell(field, "invalid_format", text)),
            }
        }
        let role_ids = named_roles(service, roles).unwrap_or_else(|issue| {
            errors.push(issue);
            Vec::new()
        });
        Cells {
            email,
            name,
            phone,
            company,
            roles,
            email_key: email_key.unwrap_or_default(),
            phone_key: phone_key.unwrap_or_default(),
            company_key: company_key.unwrap_or_default(),
            role_ids,
            errors,
        }
    }

    /// The organization, or the issue why there is none; no issue when the cell itself is wrong.
    fn company(&self, existing: &ExistingData, chosen: Option<&Named>) -> Result<Named, Option<Issue>> {
        if self.company_key.is_empty() {
            return Err(None);
        }
        match existing.companies.get(&self.company_key).map(Vec::as_slice).unwrap_or_default() {
            [] => Err(Some(Issue::of_cell(COMPANY, "not_found", self.company))),
            [only] => Ok(only.clone()),
            // A choice counts only if it is one of the organizations with this name.
            several => match chosen.filter(|named| named.key == self.company_key) {
                Some(named) => Ok(named.clone()),
                None => {
                    let candidates = several.iter().map(|named| named.organization.clone()).collect();
                    Err(Some(Issue { candidates, ..Issue::of_cell(COMPANY, AMBIGUOUS, self.company) }))
                }
            },
        }
    }

    /// Whether the user has this phone already: as with PUT, one that does not change passes.
    fn keeps_phone(&self, present: Option<&Placed>) -> bool {
        present.is_some_and(|placed| placed.user.phone.as_deref() == Some(self.phone_key.as_str()))
    }

    /// Conflicts with users in the caller's reach, or with a user the caller may not change.
    fn occupied(
        &self,
        service: &Directory,
        caller: &Caller,
        existing: &ExistingData,
        present: Option<&Placed>,
    ) -> impl Iterator<Item = Issue> + use<> {
        let is_archived = present.is_none()
            && (existing.deleted.contains(&self.email_key) || existing.users.contains_key(&self.email_key));
        // The caller's own user, or one with more rights: the decision of PUT.
        let is_out_of_hand = present.is_some_and(|placed| {
            !decide(caller, Action::Update, &judged_user(&service.identity, placed)).is_allowed()
        });
        let other = existing.phones.get(&self.phone_key).filter(|_| !self.keeps_phone(present));
        let used_by = |other: &String| vec![self.phone.to_owned(), other.clone()];
        [
            is_archived.then(|| Issue::of_cell(EMAIL, "archived", self.email)),
            is_out_of_hand.then(|| Issue::new(EMAIL, "insufficient_privileges")),
            other.map(|other| Issue::new(PHONE, "already_used").with_values(used_by(other))),
        ]
        .into_iter()
        .flatten()
    }

    /// The grant rule for the roles in this organization.
    fn ungrantable(&self, service: &Directory, caller: &Caller, org_type: OrgType) -> Option<Issue> {
        if self.role_ids.is_empty() {
            return None;
        }
        let refusal = may_grant(caller, &service.platform.catalogue, &self.role_ids, org_type).err()?;
        let role = match refusal {
            Refusal::Ungrantable(gap) => gap.role_id,
            _ => None,
        };
        let name =
            role.and_then(|id| service.platform.catalogue.user_role(&id)).map(|role| role.name.clone());
        Some(Issue::new(ROLES, "insufficient_privileges").with_values(name.into_iter().collect()))
    }

    fn plan(&self, present: Option<&Placed>, organization_id: OrgId) -> Plan {
        let body = UserBody {
            name: Some(self.name.to_owned()),
            phone: Some(self.phone.to_owned()),
            user_role_ids: Some(self.role_ids.clone()),
            organization_id: Some(organization_id.to_string()),
            ..UserBody::default()
        };
        match present {
            // The address identified the user; its stored spelling stays.
            Some(placed) => Plan::UpdateUser(placed.user.id, body),
            None => Plan::CreateUser(UserBody { email: Some(self.email.to_owned()), ..body }),
        }
    }

    fn data(&self, organization: Option<&OrgRef>) -> Map<String, Value> {
        let cells = [self.email, self.name, self.phone, self.company, self.roles];
        let mut data: Map<String, Value> = COLUMNS
            .iter()
            .zip(cells)
            .map(|(column, cell)| ((*column).to_owned(), Value::from(cell)))
            .collect();
        let organization_id = organization.map(|o| o.id.to_string()).unwrap_or_default();
        data.insert("organization_id".to_owned(), Value::from(organization_id));
        data.insert("role_ids".to_owned(), Value::from(self.role_ids.clone()));
        data
    }
}

/// Keys of the roles with these names, in any case, separated by `;`.
fn named_roles(service: &Directory, cell: &str) -> Result<Vec<String>, Issue> {
    if is_too_long(cell, MAX_ROLES_CHARS) {
        return Err(Issue::of_cell(ROLES, "too_long", cell));
    }
    let (mut keys, mut unknown) = (Vec::new(), Vec::new());
    for name in cell.split(';').map(str::trim).filter(|name| !name.is_empty()) {
        let is_named = |role: &&bailiwick_policy::UserRole| fold(&role.name) == fold(name);
        match service.platform.catalogue.user_roles().iter().find(is_named) {
            Some(role) if keys.contains(&role.key) => {}
            Some(role) => keys.push(role.key.clone()),
            None => unknown.push(name.to_owned()),
        }
    }
    if !unknown.is_empty() {
        return Err(Issue::new(ROLES, "unknown").with_values(unknown));
    }
    if keys.is_empty() { Err(Issue::new(ROLES, "at_least_one_required")) } else { Ok(keys) }
}
