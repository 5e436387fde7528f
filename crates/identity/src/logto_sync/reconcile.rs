//! `bailiwick logto sync`: compares every organization and user with the tenant. It finds objects there by their links
//! only: an object with the same name is not adopted.

use super::{LogtoSync, aspect, organization, user};
use crate::Identity;
use bailiwick_domain::{Error, OrgId, OrgType, Result, User, UserId, fold::fold, validate::Email};
use bailiwick_outbound::logto::{LogtoError, LogtoUserFields, Named};
use bailiwick_store::{
    identities::account_links,
    logto::{
        self,
        outbox::{self, OutboxKind},
    },
    organizations, users,
};
use futures_util::future::join_all;
use uuid::Uuid;

/// Objects read from the database at a time, and compared at the same time.
const PAGE: i64 = 100;
const AT_ONCE: usize = 8;

/// An object that differs at the tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `organization` or `user`.
    pub kind: &'static str,
    /// Local id.
    pub id: Uuid,
    /// Name of the organization, address of the user.
    pub name: String,
    /// `missing`, `different: …`, `superfluous: …`.
    pub problems: Vec<String>,
    /// The aspects to send, as bits, and a link to an object that does not exist.
    aspects: i64,
    dead_link: Option<String>,
}

/// The result of a reconciliation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconcileReport {
    /// Organizations and users compared.
    pub looked_at: u64,
    /// Those that differ.
    pub different: u64,
    /// Changes still waiting to be sent afterwards, including refused ones.
    pub waiting: u64,
}

/// Compares everything. Unless `is_dry`, it queues the differences for the worker. `each` receives the differences as
/// they are found.
///
/// # Errors
/// Another identity mode; the provider or the database does not answer.
pub async fn reconcile(
    service: &Identity,
    is_dry: bool,
    mut each: impl FnMut(&Difference),
) -> Result<ReconcileReport> {
    let logto = service.logto.as_ref().ok_or_else(|| Error::bad_request("identity.mode is not `logto`"))?;
    // If this call fails there is no tenant, and a 404 would say nothing about the requested object.
    logto.client.roles().await.map_err(away)?;
    super::link_configured(service, logto).await?;
    if !is_dry {
        let mut tx = service.platform.db.begin().await?;
        outbox::retry_gone(&mut tx, logto.issuer(), service.platform.now()).await?;
        tx.commit().await?;
    }
    let mut figures = ReconcileReport::default();
    let mut after = Uuid::nil();
    loop {
        let ids = logto::organizations_after(&service.platform.db, after, PAGE).await?;
        let Some(last) = ids.last() else { break };
        after = last.0;
        for portion in ids.chunks(AT_ONCE) {
            let differences = join_all(portion.iter().map(|id| organization_of(service, logto, *id))).await;
            take(service, logto, is_dry, &mut figures, differences, &mut each).await?;
        }
    }
    after = Uuid::nil();
    loop {
        let ids = logto::users_after(&service.platform.db, after, PAGE).await?;
        let Some(last) = ids.last() else { break };
        after = last.0;
        for portion in ids.chunks(AT_ONCE) {
            let differences = join_all(portion.iter().map(|id| user_of(service, logto, *id))).await;
            take(service, logto, is_dry, &mut figures, differences, &mut each).await?;
        }
    }
    if !is_dry {
        super::run_until_idle(service).await?;
    }
    figures.waiting = outbox::waiting(&service.platform.db, logto.issuer()).await?;
    Ok(figures)
}

async fn take(
    service: &Identity,
    logto: &LogtoSync,
    is_dry: bool,
    figures: &mut ReconcileReport,
    differences: Vec<Result<Option<Difference>>>,
    each: &mut impl FnMut(&Difference),
) -> Result<()> {
    for difference in differences {
        figures.looked_at += 1;
        let Some(difference) = difference? else { continue };
        figures.different += 1;
        each(&difference);
        if !is_dry {
            note(service, logto, &difference).await?;
        }
    }
    Ok(())
}

/// Queues a difference for the worker. A link to a removed object ends, so the worker creates the object again.
async fn note(service: &Identity, logto: &LogtoSync, difference: &Difference) -> Result<()> {
    let (issuer, now) = (logto.issuer(), service.platform.now());
    let mut tx = service.platform.db.begin().await?;
    let kind = if difference.kind == "user" { OutboxKind::User } else { OutboxKind::Organization };
    match (&difference.dead_link, kind) {
        (Some(provider_id), OutboxKind::User) => {
            account_links::remove_subject(&mut tx, issuer, UserId(difference.id), provider_id).await?;
        }
        (Some(provider_id), _) => {
            logto::unlink_organization(&mut tx, issuer, OrgId(difference.id), provider_id).await?;
        }
        (None, _) => {}
    }
    outbox::put(&mut tx, issuer, kind, difference.id, difference.aspects, now).await?;
    Ok(tx.commit().await?)
}

fn away(error: LogtoError) -> Error {
    Error::Upstream { message: "identity provider unreachable".into(), log: error.to_string() }
}

async fn organization_of(service: &Identity, logto: &LogtoSync, id: OrgId) -> Result<Option<Difference>> {
    let Some(organization) = organizations::get(&service.platform.db, id).await? else { return Ok(None) };
    let linked = logto::organization(&service.platform.db, logto.issuer(), id).await?.id;
    let difference = |problems: String, aspects, dead_link| {
        let (kind, name) = ("organization", organization.details.name.clone());
        Some(Difference { kind, id: id.0, name, problems: vec![problems], aspects, dead_link })
    };
    let Some(provider_id) = linked else {
        // Nothing is created for a deleted organization.
        let is_wanted = !organization.deleted.is_set();
        return Ok(is_wanted.then(|| difference("missing".to_owned(), aspect::ORGANIZATION, None)).flatten());
    };
    let Some(there) = logto.client.organization(&provider_id).await.map_err(away)? else {
        return Ok(difference("missing".to_owned(), aspect::ORGANIZATION, Some(provider_id)));
    };
    let expected = organization::mirrored(organization.clone());
    let mut fields = Vec::new();
    if there.name != expected.name {
        fields.push("name");
    }
    if there.description.unwrap_or_default() != expected.description {
        fields.push("description");
    }
    if there.custom_data.as_object() != Some(&expected.custom_data) {
        fields.push("customData");
    }
    if fields.is_empty() {
        return Ok(None);
    }
    Ok(difference(format!("different: {}", fields.join(", ")), aspect::PROFILE, None))
}

async fn user_of(service: &Identity, logto: &LogtoSync, id: UserId) -> Result<Option<Difference>> {
    let Some(placed) = users::get(&service.platform.db, id).await? else { return Ok(None) };
    let (user, client) = (&placed.user, &logto.client);
    let mut difference = Difference {
        kind: "user",
        id: id.0,
        name: user.email.clone(),
        problems: Vec::new(),
        aspects: 0,
        dead_link: None,
    };
    let missing = |difference: Difference, dead_link| Difference {
        problems: vec!["missing".to_owned()],
        aspects: aspect::USER,
        dead_link,
        ..difference
    };
    let Some(subject) = logto::subject(&service.platform.db, logto.issuer(), id).await? else {
        return Ok((!user::is_deleted(&placed)).then(|| missing(difference, None)));
    };
    let Some(there) = client.user(&subject).await.map_err(away)? else {
        return Ok(Some(missing(difference, Some(subject))));
    };
    let LogtoUserFields { username, name, primary_email, primary_phone, custom_data } = user::mirrored(user);
    let text = |text: Option<String>| text.unwrap_or_default();
    let fields: Vec<&str> = [
        ("username", text(there.username) != username),
        ("name", text(there.name) != name),
        ("email", Email::key_of(&text(there.primary_email)) != Email::key_of(&primary_email)),
        ("phone", text(there.primary_phone) != primary_phone),
        ("customData", there.custom_data.as_object() != Some(&custom_data)),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
    .collect();
    if !fields.is_empty() {
        difference.aspects |= aspect::PROFILE;
        difference.problems.push(format!("different: {}", fields.join(", ")));
    }
    if text(there.avatar) != user::picture(service, id).await? {
        difference.aspects |= aspect::PICTURE;
        difference.problems.push("different: picture".to_owned());
    }
    if there.is_suspended == user::is_enabled(&placed) {
        difference.aspects |= aspect::STATE;
        difference.problems.push("different: state".to_owned());
    }
    roles(service, logto, user, &subject, &mut difference).await?;
    membership(service, logto, user, &subject, &mut difference).await?;
    Ok((difference.aspects != 0).then_some(difference))
}

/// Names of the catalogue that are wanted and not held, and those held and not wanted.
fn compare(wanted: &[&str], assigned: &[Named], managed: &[&str]) -> (Vec<String>, Vec<String>) {
    let holds = |name: &&&str| !assigned.iter().any(|role| fold(&role.name) == fold(name));
    let missing = wanted.iter().filter(holds).map(|name| (*name).to_owned()).collect();
    let is_managed = |role: &&Named| managed.iter().any(|name| fold(name) == fold(&role.name));
    let is_wanted = |role: &Named| wanted.iter().any(|name| fold(name) == fold(&role.name));
    let superfluous = assigned.iter().filter(is_managed).filter(|role| !is_wanted(role));
    (missing, superfluous.map(|role| role.name.clone()).collect())
}

fn add_differences(
    difference: &mut Difference,
    noun: &str,
    (missing, superfluous): (Vec<String>, Vec<String>),
    bit: i64,
) {
    for (word, names) in [("missing", missing), ("superfluous", superfluous)] {
        if !names.is_empty() {
            difference.aspects |= bit;
            difference.problems.push(format!("{word}: {noun} {}", names.join(", ")));
        }
    }
}

async fn roles(
    service: &Identity,
    logto: &LogtoSync,
    user: &User,
    subject: &str,
    difference: &mut Difference,
) -> Result<()> {
    let assigned = logto.client.roles_of_user(subject).await.map_err(away)?;
    let user_roles = user.role_ids.iter().filter_map(|id| service.platform.catalogue.user_role(id));
    let wanted: Vec<&str> = user_roles.map(|role| role.name.as_str()).collect();
    let managed: Vec<&str> =
        service.platform.catalogue.user_roles().iter().map(|role| role.name.as_str()).collect();
    add_differences(difference, "role", compare(&wanted, &assigned, &managed), aspect::ROLES);
    Ok(())
}

async fn membership(
    service: &Identity,
    logto: &LogtoSync,
    user: &User,
    subject: &str,
    difference: &mut Difference,
) -> Result<()> {
    let own = logto::organization(&service.platform.db, logto.issuer(), user.organization.id).await?;
    let member_of = logto.client.organizations_of_user(subject).await.map_err(away)?;
    let provider_id = own.id.filter(|id| member_of.iter().any(|organization| organization.id == *id));
    let Some(provider_id) = provider_id else {
        let missing = (vec![user.organization.name.clone()], Vec::new());
        add_differences(difference, "organization", missing, aspect::MEMBERSHIP);
        return Ok(());
    };
    let others: Vec<String> = member_of.into_iter().map(|o| o.id).filter(|id| *id != provider_id).collect();
    let left = logto::organizations_of(&service.platform.db, logto.issuer(), &others).await?;
    let left: Vec<String> = left.into_values().map(|id| id.to_string()).collect();
    add_differences(difference, "organization", (Vec::new(), left), aspect::MEMBERSHIP);
    let assigned = logto.client.roles_of_member(&provider_id, subject).await.map_err(away)?;
    let managed = OrgType::ALL.map(OrgType::role_name);
    let wanted = [user.organization.org_type.role_name()];
    let differences = compare(&wanted, &assigned, &managed);
    add_differences(difference, "organization role", differences, aspect::MEMBERSHIP);
    Ok(())
}
