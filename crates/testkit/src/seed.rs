//! Organizations, users, systems and sessions for tests.

use crate::Test;
use bailiwick_alerts::config;
use bailiwick_domain::{
    ApiKeyId, ApplicationId, OrgId, OrgType, SystemId, UserId,
    org::{Details, OrgRef},
    validate::{self, ApiKeyToken, Vat},
};
use bailiwick_fleet::inventory;
use bailiwick_identity::{auth, credentials::hash_secret};
use bailiwick_policy::{
    Action, Caller, KeyMode, NewOrganization, Parent, Permission, UserHome, UserIdentity,
    alert_configuration, decide,
};
use bailiwick_store::{api_keys, applications, identities, organizations, users};
use http::Method;
use serde_json::{Map, Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A user with a session.
#[derive(Clone, Debug)]
pub struct Persona {
    /// User id.
    pub id: UserId,
    /// The user's organization.
    pub org: OrgId,
    /// Its level.
    pub org_type: OrgType,
    /// Access token, 30 minutes from its making.
    pub token: String,
    /// Refresh token of the same chain.
    pub refresh_token: String,
}

/// Two branches below the owner.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// The owner organization.
    pub owner: OrgId,
    /// Below the owner.
    pub distributor: OrgId,
    /// Below the distributor.
    pub reseller: OrgId,
    /// Below the reseller.
    pub customer: OrgId,
    /// The other branch.
    pub other_distributor: OrgId,
    /// Below the other distributor.
    pub other_reseller: OrgId,
    /// Below the other reseller.
    pub other_customer: OrgId,
}

/// A registered system with its credential.
#[derive(Clone, Debug)]
pub struct Seeded {
    /// Management id.
    pub id: SystemId,
    /// User name of Basic.
    pub key: String,
    /// Password of Basic.
    pub secret: String,
}

impl Test {
    /// The owner organization's first user with a session.
    pub async fn owner(&self) -> Persona {
        let found = identities::by_email(&self.app.platform.db, "owner@example.org").await.expect("a read");
        let (owner, _) = found.expect("the owner of the template");
        self.session(owner.id).await
    }

    /// A session of a user, as an exchange would start it.
    pub async fn session(&self, user: UserId) -> Persona {
        let session = auth::issue_token(&self.app.identity, user).await.expect("a session");
        let org = users::get(&self.app.platform.db, user)
            .await
            .expect("a read")
            .expect("the user")
            .user
            .organization;
        let (token, refresh_token) = (session.token, session.refresh_token);
        Persona { id: user, org: org.id, org_type: org.org_type, token, refresh_token }
    }

    /// A caller of this organization with every permission there.
    async fn manager(&self, org: OrgId) -> Caller {
        let org =
            organizations::get(&self.app.platform.db, org).await.expect("a read").expect("the organization");
        Caller::user(
            Arc::new(UserIdentity {
                user_id: self.app.platform.fresh(),
                username: "seed".to_owned(),
                name: "Seed".to_owned(),
                email: "seed@example.org".to_owned(),
                phone: None,
                organization: OrgRef { id: org.id, name: org.details.name, org_type: org.org_type },
                effective: self.app.platform.catalogue.effective(org.org_type, &["super".to_owned()]),
            }),
            None,
        )
    }

    /// An organization below another one.
    pub async fn organization(&self, parent: OrgId, org_type: OrgType, name: &str) -> OrgId {
        let manager = self.manager(parent).await;
        let target = NewOrganization { family: org_type, parent: Parent::Own };
        let granted = decide(&manager, Action::Create, &target).granted().expect("a parent that fits");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut fields = validate::Fields::new();
        let sent = json!({"vat": format!("IT{number:011}")});
        let sent = sent.as_object().cloned().unwrap_or_default();
        let (custom_data, vat): (Map<_, _>, Option<Vat>) =
            validate::organization_custom_data(&mut fields, Map::new(), sent);
        fields.finish().expect("a valid organization");
        let new = organizations::NewOrganization {
            id: self.app.platform.fresh(),
            org_type,
            details: Details::new(name, ""),
            vat,
            custom_data,
            created_by: manager.creator(),
            at: self.app.platform.now(),
        };
        let mut tx = self.app.platform.db.begin().await.expect("a transaction");
        assert!(organizations::insert(&mut tx, Some(&granted), &new).await.expect("an insert"));
        tx.commit().await.expect("a commit");
        new.id
    }

    /// The usual two branches.
    pub async fn tree(&self) -> Tree {
        let owner = organizations::owner(&self.app.platform.db).await.expect("a read").expect("the owner");
        let mut ids = Vec::new();
        for branch in ["Alfa", "Beta"] {
            let mut parent = owner;
            for org_type in [OrgType::Distributor, OrgType::Reseller, OrgType::Customer] {
                parent =
                    self.organization(parent, org_type, &format!("{branch} {}", org_type.role_name())).await;
                ids.push(parent);
            }
        }
        Tree {
            owner,
            distributor: ids[0],
            reseller: ids[1],
            customer: ids[2],
            other_distributor: ids[3],
            other_reseller: ids[4],
            other_customer: ids[5],
        }
    }

    /// A user with these roles and a session, without a password.
    pub async fn user(&self, org: OrgId, roles: &[&str]) -> Persona {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let email = format!("user{number}@example.org");
        let manager = self.manager(org).await;
        let node = organizations::node(&self.app.platform.db, org).await.expect("a read");
        let home = UserHome { requested_id: org.to_string(), node };
        let granted = decide(&manager, Action::Create, &home).granted().expect("a home");
        let new = users::NewUser {
            id: self.app.platform.fresh(),
            username: format!("user{number}"),
            email: validate::email(&email).expect("an address"),
            email_verified: true,
            name: format!("User {number}"),
            phone: None,
            role_ids: roles.iter().map(|r| (*r).to_owned()).collect(),
            custom_data: None,
            password_hash: None,
            password_generated_at: None,
            created_by: manager.creator(),
            at: self.app.platform.now(),
        };
        let mut tx = self.app.platform.db.begin().await.expect("a transaction");
        let inserted = users::insert(&mut tx, &granted, &new).await.expect("an insert");
        assert_eq!(inserted, users::Inserted::Done);
        tx.commit().await.expect("a commit");
        self.session(new.id).await
    }

    /// A personal API key of a user for 90 days, and its token.
    pub async fn api_key(&self, user: UserId, mode: KeyMode) -> (ApiKeyId, String) {
        let token = ApiKeyToken::generate(&*self.app.platform.entropy);
        let at = self.app.platform.now();
        let new = api_keys::NewApiKey {
            id: self.app.platform.fresh(),
            user_id: user,
            name: "Seeded".to_owned(),
            key_public: token.public.clone(),
            secret_hash: hash_secret(token.secret.reveal(), &*self.app.platform.entropy),
            mode,
            expires_at: at.plus(Duration::from_secs(90 * 86_400)),
            at,
        };
        let mut tx = self.app.platform.db.begin().await.expect("a transaction");
        api_keys::insert(&mut tx, &new).await.expect("an insert");
        tx.commit().await.expect("a commit");
        (new.id, token.reveal(false))
    }

    /// A system of an organization, created and registered over HTTP.
    pub async fn system(&self, org: OrgId) -> Seeded {
        let owner = self.owner().await;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let body = json!({"name": format!("System {number}"), "organization_id": org});
        let created =
            self.post("/api/systems").bearer(&owner.token).json(body).send().await.expect(201).data();
        let secret = created["system_secret"].as_str().expect("a secret").to_owned();
        self.post("/api/systems/register").json(json!({"system_secret": secret})).send().await.expect(200);
        Seeded {
            id: created["id"].as_str().expect("an id").parse().expect("a UUID"),
            key: created["system_key"].as_str().expect("a key").to_owned(),
            secret,
        }
    }

    /// Saves an organization's alert layer.
    pub async fn alert_layer(&self, org: OrgId, layer: Value) {
        let layer = serde_json::from_value(layer).expect("a layer");
        let saving = config::Saving { user: None, name: "Seed".to_owned(), at: self.app.platform.now() };
        let mut tx = self.app.platform.db.begin().await.expect("a transaction");
        let node = organizations::node(&mut tx, org).await.expect("a read");
        let target = alert_configuration(&Caller::Worker, Permission::ManageAlerts, node.as_ref());
        let target = target.expect("the organization");
        config::store(&self.app.alerts, &mut tx, &target, &layer, &saving).await.expect("a write");
        tx.commit().await.expect("a commit");
    }

    /// A listed application of a system, from a document over HTTP.
    pub async fn application(&self, system: &Seeded) -> ApplicationId {
        let module = json!({"id": "mail1", "module": "mail", "name": "Mail", "certification_level": 5});
        let document = json!({"installation": "nethserver", "facts": {"modules": [module]}});
        let call = self.post("/systems/inventory").basic(&system.key, &system.secret).json(document);
        call.send().await.expect(202);
        inventory::run_until_idle(&self.app.fleet).await.expect("a worker");
        let found = applications::by_module(&self.app.platform.db, system.id, "mail1").await.expect("a read");
        found.expect("the application")
    }

    /// A request of the owner about an object, over HTTP.
    async fn act(&self, method: Method, path: String) {
        let owner = self.owner().await;
        self.call(method, &path).bearer(&owner.token).send().await.expect(200);
    }

    /// Suspends a user.
    pub async fn suspend_user(&self, id: UserId) {
        self.act(Method::PATCH, format!("/api/users/{id}/suspend")).await;
    }

    /// Deletes a user (soft).
    pub async fn delete_user(&self, id: UserId) {
        self.act(Method::DELETE, format!("/api/users/{id}")).await;
    }

    /// Suspends a system.
    pub async fn suspend_system(&self, id: SystemId) {
        self.act(Method::PATCH, format!("/api/systems/{id}/suspend")).await;
    }

    /// Sends a heartbeat and two documents of a system with these credentials; the second one changes a version and a
    /// subscription. A minute passes after each document.
    pub async fn send_documents(&self, key: &str, secret: &str) {
        self.post("/api/systems/heartbeat").basic(key, secret).send().await.expect(200);
        let sample = include_str!("../../inventory/tests/data/inventory-ns8.json");
        let mut document: Value = serde_json::from_str(sample).expect("JSON");
        for (version, subscription) in [("3.19.2", "enterprise"), ("4.0.0", "community")] {
            document["facts"]["nodes"]["1"]["version"] = json!(version);
            document["facts"]["cluster"]["subscription"] = json!(subscription);
            let sent =
                self.post("/api/systems/inventory").basic(key, secret).json(document.clone()).send().await;
            assert!(sent.status.is_success(), "{}", sent.text());
            inventory::run_until_idle(&self.app.fleet).await.expect("the documents are compared");
            self.advance(Duration::from_secs(60));
        }
    }

    /// Deletes a system (soft).
    pub async fn delete_system(&self, id: SystemId) {
        self.act(Method::DELETE, format!("/api/systems/{id}")).await;
    }

    /// Suspends an organization, with all below it.
    pub async fn suspend_organization(&self, id: OrgId) {
        let path = self.organization_path(id).await;
        self.act(Method::PATCH, format!("{path}/suspend")).await;
    }

    /// Deletes an organization (soft), with all below it.
    pub async fn delete_organization(&self, id: OrgId) {
        let path = self.organization_path(id).await;
        self.act(Method::DELETE, path).await;
    }

    async fn organization_path(&self, id: OrgId) -> String {
        let found =
            organizations::get(&self.app.platform.db, id).await.expect("a read").expect("the organization");
        format!("/api/{}/{id}", found.org_type.plural())
    }
}
