//! `POST /systems` (spec: systems#create).

use crate::Fleet;
use bailiwick_domain::{
    AuditAction, Error, Happening, Liveness, OrgId, Result, System, SystemId, Ts,
    org::{Creator, Mark, OrgRef, Origin},
    validate::{self, Fields, Holder, SystemKey, SystemSecret, client_keys, free_text, string_values},
};
use bailiwick_events::EventDraft;
use bailiwick_identity::credentials::hash_secret;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{
    Action, Caller, Granted, OrgNode, Path, Resource, SystemHome, attribute_system, attributing, decide, gate,
};
use bailiwick_store::{Tx, rebranding, systems};
use serde_json::{Map, Value, json};

/// A creation as sent.
#[derive(Clone, Debug, Default)]
pub struct NewSystem {
    /// Required.
    pub name: String,
    /// Required.
    pub organization_id: String,
    /// Text to text.
    pub custom_data: Map<String, Value>,
    /// `""` when absent.
    pub notes: String,
    /// Displayed creator organization.
    pub created_by_organization_id: Option<String>,
    /// Earlier creation.
    pub created_at: Option<String>,
    /// Born registered.
    pub registered_at: Option<String>,
}

/// A new system with its secret, which is shown only this once.
#[derive(Clone, Debug)]
pub struct Created {
    pub system: System,
    pub secret: SystemSecret,
}

/// Creates a system. The body is decoded after the gate, as a creation has no object to load (spec:
/// conventions#order-of-checks).
pub async fn create(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<NewSystem>,
) -> Result<Created> {
    gate(caller, Action::Create, Resource::Systems)?;
    let mut new = body()?;
    // The server's keys are ignored, whatever values the client sends.
    new.custom_data = client_keys(Holder::System, new.custom_data);
    let now = service.platform.now();
    // Without an organization, the field errors are reported before references are checked.
    if new.organization_id.trim().is_empty() {
        let mut fields = check_fields(&new);
        fields.push("organization_id", "required", "");
        check_times(&mut fields, &new, now);
        return Err(fields.finish().err().unwrap_or(Error::field("organization_id", "required")));
    }
    let mut tx = service.platform.db.begin().await?;
    let (granted, node, organization) = home(&mut tx, caller, Action::Create, &new.organization_id).await?;
    let creator = creator(&mut tx, caller, &new, &node.path).await?;
    let mut fields = check_fields(&new);
    let (created_at, registered_at) = check_times(&mut fields, &new, now);
    fields.finish()?;
    let rebranding = rebranding::nearest_to(&mut tx, organization.id).await?.map(|(id, _)| id);
    let mut created = build(service, new, organization, creator, (created_at, registered_at, now));
    created.system.rebranding = rebranding;
    store(&mut tx, &granted, &node, &created, service).await?;
    let event = audit::Event {
        action: AuditAction::SystemCreate,
        object_type: "system",
        object_id: created.system.id.0,
        before: None,
        after: Some(json!({
            "name": created.system.name, "organization_id": created.system.organization.id,
            "system_key": created.system.shown_key(),
        })),
    };
    audit::record(&mut tx, now, caller, ctx, event).await?;
    EventDraft::system(Happening::Created, &created.system).write(&mut tx, now).await?;
    tx.commit().await?;
    Ok(created)
}

/// The organization named for a new (`Create`) or moving (`Update`) system, locked until the transaction ends.
pub(super) async fn home(
    tx: &mut Tx,
    caller: &Caller,
    action: Action,
    id: &str,
) -> Result<(Granted<OrgId>, OrgNode, OrgRef)> {
    let found = match id.parse::<OrgId>() {
        Ok(id) => systems::lock_placement(tx, id).await?,
        Err(_) => None,
    };
    let granted = decide(caller, action, &SystemHome { node: found.as_ref().map(|f| f.0) }).granted()?;
    // A grant exists only for a place.
    let (node, name) = found.ok_or_else(|| Error::internal("a grant without a place"))?;
    let organization = OrgRef { id: node.path.id, name, org_type: node.org_type };
    Ok((granted, node, organization))
}

/// The caller, or the organization that an owner or distributor names instead; `home`: the place of the system.
async fn creator(tx: &mut Tx, caller: &Caller, new: &NewSystem, home: &Path) -> Result<Creator> {
    let mut creator = caller.creator().ok_or_else(|| Error::internal("a system created by nobody"))?;
    if let Some(id) = new.created_by_organization_id.as_deref().filter(|id| !id.is_empty()) {
        let named = match id.parse::<OrgId>() {
            Ok(id) => systems::lock_placement(tx, id).await?,
            Err(_) => None,
        };
        attribute_system(caller, named.as_ref().map(|n| &n.0))?;
        if let Some((node, name)) = named {
            creator.organization_id = Some(node.path.id);
            creator.organization_name = name;
            creator.on_behalf_of = true;
            let Path { id, p2, p3 } = node.path;
            if ![home.id, home.p3, home.p2].contains(&id) {
                creator.origin = Origin::Elsewhere { p2, p3 };
            }
        }
    }
    for (field, value) in [("created_at", &new.created_at), ("registered_at", &new.registered_at)] {
        if value.is_some() {
            attributing(caller, field)?;
        }
    }
    Ok(creator)
}

fn check_fields(new: &NewSystem) -> Fields {
    let mut fields = Fields::new();
    fields.check("name", &new.name, validate::name(&new.name));
    string_values(&mut fields, &new.custom_data);
    fields.check("notes", "", free_text(&new.notes));
    fields
}

/// Creation and registration times: the given ones if they are valid (spec: systems#create).
fn check_times(fields: &mut Fields, new: &NewSystem, now: Ts) -> (Ts, Option<Ts>) {
    let mut read = |key: &str, text: &Option<String>| {
        let text = text.as_deref()?;
        match text.parse::<Ts>() {
            Ok(at) if at > now => fields.push(key, "cannot_be_in_future", text),
            Ok(at) => return Some(at),
            Err(_) => fields.push(key, "invalid_format", text),
        }
        None
    };
    let created_at = read("created_at", &new.created_at).unwrap_or(now);
    let registered_at = read("registered_at", &new.registered_at);
    if let Some(at) = registered_at.filter(|at| *at < created_at) {
        fields.push("registered_at", "cannot_precede_created_at", at.to_string());
    }
    (created_at, registered_at)
}

fn build(
    service: &Fleet,
    new: NewSystem,
    organization: OrgRef,
    created_by: Creator,
    (created_at, registered_at, now): (Ts, Option<Ts>, Ts),
) -> Created {
    let system = System {
        id: service.platform.fresh::<SystemId>(),
        name: new.name,
        system_type: None,
        fqdn: String::new(),
        ipv4_address: String::new(),
        ipv6_address: String::new(),
        version: String::new(),
        custom_data: new.custom_data,
        organization,
        system_key: SystemKey::generate(&service.settings.systems.key_prefix, &*service.platform.entropy)
            .to_string(),
        notes: new.notes,
        created_at,
        updated_at: now,
        registered_at,
        created_by,
        liveness: Liveness::Unknown,
        last_heartbeat: None,
        last_inventory: None,
        suspended: Mark::default(),
        deleted: Mark::default(),
        rebranding: None,
    };
    Created { system, secret: SystemSecret::generate(&*service.platform.entropy) }
}

async fn store(
    tx: &mut Tx,
    granted: &Granted<OrgId>,
    node: &OrgNode,
    created: &Created,
    service: &Fleet,
) -> Result<()> {
    let Created { system, secret } = created;
    let row = systems::NewSystem {
        id: system.id,
        name: system.name.clone(),
        notes: system.notes.clone(),
        custom_data: system.custom_data.clone(),
        system_key: system.system_key.clone(),
        secret_public: secret.public.clone(),
        secret_hash: hash_secret(secret.secret.reveal(), &*service.platform.entropy),
        created_by: system.created_by.clone(),
        created_at: system.created_at,
        updated_at: system.updated_at,
        registered_at: system.registered_at,
    };
    Ok(systems::insert(tx, granted, &node.path, row).await?)
}
