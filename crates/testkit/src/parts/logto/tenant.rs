//! The content of a tenant and its answers.

use super::super::recorder::{Answer, Recorded};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Rows of a page unless it is asked for more.
const PAGE: usize = 20;

/// The tenant.
#[derive(Debug, Default)]
pub struct Tenant {
    /// Its address.
    pub url: String,
    /// Accounts by id, as they are answered.
    pub users: BTreeMap<String, Value>,
    /// Their passwords.
    pub passwords: BTreeMap<String, String>,
    /// Organizations by id.
    pub organizations: BTreeMap<String, Value>,
    /// Members (organization, account) with the ids of their organization roles.
    pub members: BTreeMap<(String, String), BTreeSet<String>>,
    /// Role ids for users who join an organization by themselves.
    pub jit: BTreeMap<String, BTreeSet<String>>,
    /// Id and name.
    pub roles: Vec<(String, String)>,
    /// Id and name.
    pub organization_roles: Vec<(String, String)>,
    /// Role ids of accounts.
    pub user_roles: BTreeMap<String, BTreeSet<String>>,
    /// Applications.
    pub applications: Vec<Value>,
    /// By application; 404 for others.
    pub experiences: BTreeMap<String, Value>,
    /// By application; 404 for others.
    pub consent_scopes: BTreeMap<String, Value>,
    /// Custom domains.
    pub domains: Vec<Value>,
    /// Tokens of the management application.
    pub good_tokens: HashSet<String>,
    /// Those that are none any more.
    pub old_tokens: HashSet<String>,
    /// People's opaque tokens: account and client.
    pub sessions: BTreeMap<String, (String, String)>,
    /// Discovery names an introspection endpoint.
    pub introspects: bool,
    /// A creation was not answered properly; searching is allowed from then on.
    pub has_lost_an_answer: bool,
    made: u32,
}

fn refused(code: &str) -> Answer {
    Answer::json(422, &json!({"code": code, "message": "a text of the provider"}))
}

fn missing() -> Answer {
    Answer::json(404, &json!({"code": "entity.not_found", "message": "a text of the provider"}))
}

fn named(all: &[(String, String)], ids: Option<&BTreeSet<String>>) -> Vec<Value> {
    let wanted = all.iter().filter(|(id, _)| ids.is_none_or(|ids| ids.contains(id)));
    wanted.map(|(id, name)| json!({"id": id, "name": name, "description": ""})).collect()
}

fn strings(body: &Value, key: &str) -> Vec<String> {
    let all = body[key].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Tenant {
    pub(super) fn new() -> Tenant {
        let pairs = |prefix: &str, names: &[&str]| {
            names.iter().enumerate().map(|(n, name)| (format!("{prefix}{n}"), (*name).to_owned())).collect()
        };
        let user_roles = ["Super Admin", "Admin", "Backoffice", "Support", "Reader", "Management API"];
        Tenant {
            roles: pairs("role", &user_roles),
            organization_roles: pairs("orgrole", &["Owner", "Distributor", "Reseller", "Customer"]),
            introspects: true,
            ..Tenant::default()
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}{}", self.made)
    }

    /// An account made directly at the tenant.
    pub fn add_user(&mut self, email: &str, username: &str) -> String {
        let id = self.fresh("account");
        let user = json!({"id": id, "username": username, "primaryEmail": email, "primaryPhone": null,
            "name": null, "isSuspended": false, "customData": {}});
        self.users.insert(id.clone(), user);
        id
    }

    /// An organization made directly at the tenant.
    pub fn add_organization(&mut self, name: &str) -> String {
        let id = self.fresh("organization");
        let organization = json!({"id": id, "name": name, "description": null, "customData": {}});
        self.organizations.insert(id.clone(), organization);
        id
    }

    /// An opaque token of an account for a client.
    pub fn sign_in(&mut self, account: &str, client: &str) -> String {
        let token = self.fresh("opaque-token-");
        self.sessions.insert(token.clone(), (account.to_owned(), client.to_owned()));
        token
    }

    /// The account with this local id.
    #[must_use]
    pub fn account_of(&self, local: &str) -> Option<String> {
        let is_wanted = |user: &&Value| user["customData"]["bailiwickId"] == local;
        self.users.values().find(is_wanted).and_then(|user| user["id"].as_str()).map(str::to_owned)
    }

    /// The organization with this local id.
    #[must_use]
    pub fn organization_of(&self, local: &str) -> Option<String> {
        let is_wanted = |organization: &&Value| organization["customData"]["bailiwickId"] == local;
        self.organizations.values().find(is_wanted).and_then(|found| found["id"].as_str()).map(str::to_owned)
    }

    /// Names of an account's roles.
    #[must_use]
    pub fn role_names(&self, account: &str) -> Vec<String> {
        let ids = self.user_roles.get(account).cloned().unwrap_or_default();
        self.roles.iter().filter(|(id, _)| ids.contains(id)).map(|(_, name)| name.clone()).collect()
    }

    /// Organizations of an account, each with the names of its roles there.
    #[must_use]
    pub fn memberships(&self, account: &str) -> Vec<(String, Vec<String>)> {
        let own = self.members.iter().filter(|((_, user), _)| user == account);
        own.map(|((organization, _), ids)| {
            let names = self.organization_roles.iter().filter(|(id, _)| ids.contains(id));
            (organization.clone(), names.map(|(_, name)| name.clone()).collect())
        })
        .collect()
    }

    /// Names of the roles for users who join an organization by themselves.
    #[must_use]
    pub fn jit_names(&self, organization: &str) -> Vec<String> {
        let ids = self.jit.get(organization).cloned().unwrap_or_default();
        let names = self.organization_roles.iter().filter(|(id, _)| ids.contains(id));
        names.map(|(_, name)| name.clone()).collect()
    }

    /// Invalidates all tokens of the management application.
    pub fn expire_tokens(&mut self) {
        self.old_tokens.extend(self.good_tokens.drain());
    }

    pub(super) fn answer(&mut self, request: &Recorded) -> Answer {
        if let Some(path) = request.path.strip_prefix("/oidc/") {
            return self.oidc(path, request);
        }
        let path = request.path.strip_prefix("/api/").unwrap_or_default().to_owned();
        let parts: Vec<&str> = path.split('/').collect();
        let body = request.json().unwrap_or_default();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["roles"]) => page(request, &named(&self.roles, None)),
            ("GET", ["organization-roles"]) => page(request, &named(&self.organization_roles, None)),
            ("GET", ["roles" | "organization-roles", _, "scopes"]) => page(request, &[]),
            ("GET", ["applications"]) => page(request, &self.applications),
            ("GET", ["applications", id, "sign-in-experience"]) => one(self.experiences.get(*id)),
            ("GET", ["applications", id, "user-consent-scopes"]) => one(self.consent_scopes.get(*id)),
            ("GET", ["domains"]) => page(request, &self.domains),
            (method, ["users", rest @ ..]) => self.users(method, rest, &body, request),
            (method, ["organizations", rest @ ..]) => self.organizations(method, rest, &body, request),
            _ => missing(),
        }
    }

    fn oidc(&mut self, path: &str, request: &Recorded) -> Answer {
        let issuer = format!("{}/oidc", self.url);
        match path {
            ".well-known/openid-configuration" => {
                let mut all = json!({
                    "issuer": issuer, "jwks_uri": format!("{issuer}/jwks"),
                    "authorization_endpoint": format!("{issuer}/auth"),
                    "userinfo_endpoint": format!("{issuer}/me"),
                });
                if self.introspects {
                    all["introspection_endpoint"] = json!(format!("{issuer}/token/introspection"));
                }
                Answer::json(200, &all)
            }
            "jwks" => Answer::json(200, &json!({"keys": []})),
            "token" => {
                let token = self.fresh("m2m-token-");
                self.good_tokens.insert(token.clone());
                let body = json!({"access_token": token, "expires_in": 3600, "token_type": "Bearer", "scope": "all"});
                Answer::json(200, &body)
            }
            "me" => {
                let token = request.value("authorization").and_then(|text| text.strip_prefix("Bearer "));
                let session = token.and_then(|token| self.sessions.get(token));
                let Some(user) = session.and_then(|(account, _)| self.users.get(account)) else {
                    return Answer::status(401);
                };
                Answer::json(
                    200,
                    &json!({"sub": user["id"], "email": user["primaryEmail"], "email_verified": true}),
                )
            }
            _ => {
                let mut form = url::form_urlencoded::parse(&request.body);
                let token = form.find(|(key, _)| key == "token").map(|(_, token)| token.into_owned());
                let session = token.and_then(|token| self.sessions.get(&token));
                Answer::json(
                    200,
                    &match session {
                        Some((account, client)) => {
                            json!({"active": true, "sub": account, "client_id": client, "token_type": "Bearer"})
                        }
                        None => json!({"active": false}),
                    },
                )
            }
        }
    }

    /// Why an account cannot have these values.
    fn taken(&self, id: &str, body: &Value) -> Option<Answer> {
        for (key, code) in [
            ("username", "user.username_already_in_use"),
            ("primaryEmail", "user.email_already_in_use"),
            ("primaryPhone", "user.phone_already_in_use"),
        ] {
            let wanted = body[key].as_str().filter(|text| !text.is_empty());
            let is_taken = wanted.is_some_and(|wanted| {
                let others = self.users.iter().filter(|(other, _)| *other != id);
                others.into_iter().any(|(_, user)| user[key].as_str() == Some(wanted))
            });
            if is_taken {
                return Some(refused(code));
            }
        }
        None
    }

    fn users(&mut self, method: &str, rest: &[&str], body: &Value, request: &Recorded) -> Answer {
        let Some((id, rest)) = rest.split_first().map(|(id, rest)| ((*id).to_owned(), rest)) else {
            return match method {
                "GET" => self.find(request, "search.username", "username"),
                _ => self.create_user(body),
            };
        };
        if !self.users.contains_key(&id) {
            return missing();
        }
        match (method, rest) {
            ("GET", []) => one(self.users.get(&id)),
            ("PATCH", []) => self.taken(&id, body).unwrap_or_else(|| {
                let user = self.users.get_mut(&id);
                if let Some(Value::Object(user)) = user {
                    user.extend(body.as_object().cloned().unwrap_or_default());
                }
                one(self.users.get(&id))
            }),
            ("DELETE", []) => {
                self.users.remove(&id);
                self.members.retain(|(_, user), _| *user != id);
                Answer::status(204)
            }
            ("PATCH", ["password"]) => {
                self.passwords.insert(id, body["password"].as_str().unwrap_or_default().to_owned());
                Answer::json(200, &json!({}))
            }
            ("POST", ["password", "verify"]) => {
                match self.passwords.get(&id).map(String::as_str) == body["password"].as_str() {
                    true => Answer::status(204),
                    false => refused("session.invalid_credentials"),
                }
            }
            ("PATCH", ["is-suspended"]) => {
                if let Some(user) = self.users.get_mut(&id) {
                    user["isSuspended"] = body["isSuspended"].clone();
                }
                one(self.users.get(&id))
            }
            ("GET", ["roles"]) => {
                page(request, &named(&self.roles, Some(self.user_roles.entry(id).or_default())))
            }
            ("POST", ["roles"]) => {
                let held = self.user_roles.entry(id).or_default();
                let wanted = strings(body, "roleIds");
                if !wanted.iter().all(|wanted| self.roles.iter().any(|(id, _)| id == wanted)) {
                    return missing();
                }
                if wanted.iter().any(|role| held.contains(role)) {
                    return refused("user.role_exists");
                }
                held.extend(wanted);
                Answer::status(201)
            }
            ("DELETE", ["roles", role]) => match self.user_roles.entry(id).or_default().remove(*role) {
                true => Answer::status(204),
                false => missing(),
            },
            ("GET", ["organizations"]) => {
                let memberships = self.members.keys().filter(|(_, user)| *user == id);
                let all: Vec<Value> = memberships
                    .filter_map(|(organization, _)| self.organizations.get(organization).cloned())
                    .collect();
                page(request, &all)
            }
            _ => missing(),
        }
    }

    fn create_user(&mut self, body: &Value) -> Answer {
        if let Some(refusal) = self.taken("", body) {
            return refusal;
        }
        let id = self.fresh("account");
        let mut user = body.clone();
        self.passwords.insert(id.clone(), body["password"].as_str().unwrap_or_default().to_owned());
        if let Some(user) = user.as_object_mut() {
            user.remove("password");
        }
        user["id"] = json!(id);
        user["isSuspended"] = json!(false);
        self.users.insert(id, user.clone());
        Answer::json(200, &user)
    }

    fn find(&self, request: &Recorded, parameter: &str, key: &str) -> Answer {
        let query = request.query.clone().unwrap_or_default();
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        let wanted = pairs.find(|(name, _)| name == parameter).map(|(_, text)| text.into_owned());
        let wanted = wanted.unwrap_or_default();
        let all = if key == "username" { &self.users } else { &self.organizations };
        let fits = |row: &&Value| row[key].as_str().is_some_and(|text| text.contains(&wanted));
        page(request, &all.values().filter(fits).cloned().collect::<Vec<_>>())
    }

    fn organizations(&mut self, method: &str, rest: &[&str], body: &Value, request: &Recorded) -> Answer {
        let Some((id, rest)) = rest.split_first().map(|(id, rest)| ((*id).to_owned(), rest)) else {
            if method == "GET" {
                return self.find(request, "q", "name");
            }
            let id = self.fresh("organization");
            let mut organization = body.clone();
            organization["id"] = json!(id);
            self.organizations.insert(id, organization.clone());
            return Answer::json(201, &organization);
        };
        if !self.organizations.contains_key(&id) {
            return missing();
        }
        match (method, rest) {
            ("GET", []) => one(self.organizations.get(&id)),
            ("PATCH", []) => {
                if let Some(Value::Object(organization)) = self.organizations.get_mut(&id) {
                    organization.extend(body.as_object().cloned().unwrap_or_default());
                }
                one(self.organizations.get(&id))
            }
            ("DELETE", []) => {
                self.organizations.remove(&id);
                self.members.retain(|(organization, _), _| *organization != id);
                Answer::status(204)
            }
            ("POST", ["users"]) => {
                for user in strings(body, "userIds") {
                    if !self.users.contains_key(&user) {
                        return refused("entity.relation_foreign_key_not_found");
                    }
                    self.members.entry((id.clone(), user)).or_default();
                }
                Answer::status(201)
            }
            ("POST", ["jit", "roles"]) if !self.are_organization_roles(body) => {
                refused("entity.relation_foreign_key_not_found")
            }
            ("POST", ["jit", "roles"]) => {
                self.jit.entry(id).or_default().extend(strings(body, "organizationRoleIds"));
                Answer::status(201)
            }
            ("DELETE", ["jit", "roles", role]) => match self.jit.entry(id).or_default().remove(*role) {
                true => Answer::status(204),
                false => missing(),
            },
            (_, ["users", user, rest @ ..]) => {
                self.member(method, (id, (*user).to_owned()), rest, body, request)
            }
            _ => missing(),
        }
    }

    fn are_organization_roles(&self, body: &Value) -> bool {
        let is_one = |wanted: &String| self.organization_roles.iter().any(|(id, _)| id == wanted);
        strings(body, "organizationRoleIds").iter().all(is_one)
    }

    fn member(
        &mut self,
        method: &str,
        member: (String, String),
        rest: &[&str],
        body: &Value,
        request: &Recorded,
    ) -> Answer {
        let are_roles = self.are_organization_roles(body);
        let Some(held) = self.members.get_mut(&member) else {
            return if method == "DELETE" { missing() } else { refused("organization.require_membership") };
        };
        match (method, rest) {
            ("DELETE", []) => {
                self.members.remove(&member);
                Answer::status(204)
            }
            ("GET", ["roles"]) => page(request, &named(&self.organization_roles, Some(held))),
            ("POST", ["roles"]) if !are_roles => refused("entity.relation_foreign_key_not_found"),
            ("POST", ["roles"]) => {
                held.extend(strings(body, "organizationRoleIds"));
                Answer::status(201)
            }
            ("DELETE", ["roles", role]) => match held.remove(*role) {
                true => Answer::status(204),
                false => missing(),
            },
            _ => missing(),
        }
    }
}

fn one(found: Option<&Value>) -> Answer {
    found.map_or_else(missing, |value| Answer::json(200, value))
}

/// Pages as Logto does: 20 rows by default.
fn page(request: &Recorded, all: &[Value]) -> Answer {
    let query = request.query.clone().unwrap_or_default();
    let number = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).and_then(|(_, text)| text.parse::<usize>().ok())
    };
    let (page, size) = (number("page").unwrap_or(1), number("page_size").unwrap_or(PAGE));
    let rows: Vec<Value> = all.iter().skip((page - 1) * size).take(size).cloned().collect();
    Answer::json(200, &Value::Array(rows)).header("total-number", &all.len().to_string())
}
