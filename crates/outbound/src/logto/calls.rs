//! The calls of spec: logto#calls, and two more: `find_user` and `find_organization`. After a creation whose answer was
//! lost, they find the object it has made; they have no other use.

use super::{
    LogtoClient, LogtoError,
    transport::WhenBusy,
    wire::{
        Account, Application, ConsentScopes, Created, Domain, LogtoOrganizationFields, LogtoUserFields,
        Named, SignInExperience,
    },
};
use crate::issuer::{IssuerError, read};
use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

type Done<T> = Result<T, LogtoError>;

/// Treats a missing object as removed.
fn removed<T>(done: Done<T>) -> Done<()> {
    match done {
        Ok(_) | Err(LogtoError::Missing) => Ok(()),
        Err(error) => Err(error),
    }
}

fn found<T>(done: Done<T>) -> Done<Option<T>> {
    match done {
        Ok(object) => Ok(Some(object)),
        Err(LogtoError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// For calls that not every version of Logto has (spec: logto#calls: 404 and 405 tolerated).
fn tolerated<T>(done: Done<T>) -> Done<Option<T>> {
    match done {
        Err(LogtoError::Unsupported) => Ok(None),
        done => found(done),
    }
}

fn value(object: &impl Serialize) -> Done<Value> {
    serde_json::to_value(object).map_err(|e| IssuerError::Unreachable(e.to_string()).into())
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

impl LogtoClient {
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Done<T> {
        let answered = self.call(WhenBusy::Worker, Method::GET, path, None).await?;
        Ok(read(&answered, "an object")?)
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Done<()> {
        self.call(WhenBusy::Worker, method, path, Some(body)).await.map(drop)
    }

    async fn delete(&self, path: &str) -> Done<()> {
        removed(self.call(WhenBusy::Worker, Method::DELETE, path, None).await)
    }

    /// Creates something; its id.
    async fn create(&self, path: &str, body: &Value) -> Done<String> {
        let answered = self.call(WhenBusy::Worker, Method::POST, path, Some(body)).await?;
        let created: Created = read(&answered, "a creation")?;
        Ok(created.id)
    }

    /// Makes an account; its id.
    pub async fn create_user(&self, user: &LogtoUserFields, password: &str) -> Done<String> {
        let mut body = value(user)?;
        if user.primary_phone.is_empty() {
            body.as_object_mut().map(|body| body.remove("primaryPhone"));
        }
        body["password"] = json!(password);
        self.create("/users", &body).await
    }

    /// The account; none when there is no such one.
    pub async fn user(&self, id: &str) -> Done<Option<Account>> {
        found(self.get(&format!("/users/{id}")).await)
    }

    /// Changes an account.
    pub async fn update_user(&self, id: &str, user: &LogtoUserFields) -> Done<()> {
        self.send(Method::PATCH, &format!("/users/{id}"), &value(user)?).await
    }

    /// Changes an account's picture; `""` = none.
    pub async fn set_avatar(&self, id: &str, url: &str) -> Done<()> {
        self.send(Method::PATCH, &format!("/users/{id}"), &json!({"avatar": url})).await
    }

    /// Removes an account.
    pub async fn delete_user(&self, id: &str) -> Done<()> {
        self.delete(&format!("/users/{id}")).await
    }

    /// Lets an account in, or not.
    pub async fn set_suspended(&self, id: &str, is_suspended: bool) -> Done<()> {
        let body = json!({"isSuspended": is_suspended});
        self.send(Method::PATCH, &format!("/users/{id}/is-suspended"), &body).await
    }

    /// Sets a password, while a user waits. `is_unknown` is true from the moment the request is sent until its answer
    /// arrives, so it stays true if this future is dropped meanwhile.
    pub async fn set_password(&self, id: &str, password: &str, is_unknown: &AtomicBool) -> Done<()> {
        let body = json!({"password": password});
        let path = format!("/users/{id}/password");
        self.call_noting(WhenBusy::Direct, Method::PATCH, &path, Some(&body), is_unknown).await.map(drop)
    }

    /// Whether this is the account's password; called while a user waits.
    pub async fn is_password(&self, id: &str, password: &str) -> Done<bool> {
        let body = json!({"password": password});
        let path = format!("/users/{id}/password/verify");
        match self.call(WhenBusy::Direct, Method::POST, &path, Some(&body)).await {
            Ok(_) => Ok(true),
            Err(LogtoError::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Roles of an account.
    pub async fn roles_of_user(&self, id: &str) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, &format!("/users/{id}/roles"), "").await
    }

    /// Gives an account roles.
    pub async fn add_roles(&self, id: &str, roles: &[String]) -> Done<()> {
        self.send(Method::POST, &format!("/users/{id}/roles"), &json!({"roleIds": roles})).await
    }

    /// Takes a role away.
    pub async fn remove_role(&self, id: &str, role: &str) -> Done<()> {
        self.delete(&format!("/users/{id}/roles/{role}")).await
    }

    /// Organizations an account is in.
    pub async fn organizations_of_user(&self, id: &str) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, &format!("/users/{id}/organizations"), "").await
    }

    pub async fn roles(&self) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, "/roles", "").await
    }

    /// All organization roles.
    pub async fn organization_roles(&self) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, "/organization-roles", "").await
    }

    /// Makes an organization; its id.
    pub async fn create_organization(&self, organization: &LogtoOrganizationFields) -> Done<String> {
        let mut body = value(organization)?;
        if organization.description.is_empty() {
            body.as_object_mut().map(|body| body.remove("description"));
        }
        self.create("/organizations", &body).await
    }

    /// The organization; none when it does not exist.
    pub async fn organization(&self, id: &str) -> Done<Option<Named>> {
        found(self.get(&format!("/organizations/{id}")).await)
    }

    /// Changes an organization.
    pub async fn update_organization(&self, id: &str, organization: &LogtoOrganizationFields) -> Done<()> {
        self.send(Method::PATCH, &format!("/organizations/{id}"), &value(organization)?).await
    }

    /// Removes an organization.
    pub async fn delete_organization(&self, id: &str) -> Done<()> {
        self.delete(&format!("/organizations/{id}")).await
    }

    /// Makes an account a member.
    pub async fn join(&self, organization: &str, user: &str) -> Done<()> {
        let body = json!({"userIds": [user]});
        self.send(Method::POST, &format!("/organizations/{organization}/users"), &body).await
    }

    /// Ends a membership.
    pub async fn leave(&self, organization: &str, user: &str) -> Done<()> {
        self.delete(&format!("/organizations/{organization}/users/{user}")).await
    }

    /// Organization roles of a member.
    pub async fn roles_of_member(&self, organization: &str, user: &str) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, &format!("/organizations/{organization}/users/{user}/roles"), "").await
    }

    /// Gives a member an organization role.
    pub async fn add_member_role(&self, organization: &str, user: &str, role: &str) -> Done<()> {
        let path = format!("/organizations/{organization}/users/{user}/roles");
        self.send(Method::POST, &path, &json!({"organizationRoleIds": [role]})).await
    }

    /// Takes one away.
    pub async fn remove_member_role(&self, organization: &str, user: &str, role: &str) -> Done<()> {
        self.delete(&format!("/organizations/{organization}/users/{user}/roles/{role}")).await
    }

    /// A user who joins an organization by themselves gets this role.
    pub async fn add_jit_role(&self, organization: &str, role: &str) -> Done<()> {
        let body = json!({"organizationRoleIds": [role]});
        self.send(Method::POST, &format!("/organizations/{organization}/jit/roles"), &body).await
    }

    /// Not any more.
    pub async fn remove_jit_role(&self, organization: &str, role: &str) -> Done<()> {
        self.delete(&format!("/organizations/{organization}/jit/roles/{role}")).await
    }

    pub async fn applications(&self) -> Done<Vec<Application>> {
        self.list(WhenBusy::Worker, "/applications", "").await
    }

    /// The sign-in experience of an application; none when it has no such setting.
    pub async fn sign_in_experience(&self, application: &str) -> Done<Option<SignInExperience>> {
        tolerated(self.get(&format!("/applications/{application}/sign-in-experience")).await)
    }

    /// The scopes an application may request; none when it has no such setting.
    pub async fn consent_scopes(&self, application: &str) -> Done<Option<ConsentScopes>> {
        tolerated(self.get(&format!("/applications/{application}/user-consent-scopes")).await)
    }

    /// Custom domains.
    pub async fn domains(&self) -> Done<Vec<Domain>> {
        self.list(WhenBusy::Worker, "/domains", "").await
    }

    /// Accounts with exactly this user name.
    pub async fn find_user(&self, username: &str) -> Done<Vec<Account>> {
        let query = format!("search.username={}&mode.username=exact&", encoded(username));
        self.list(WhenBusy::Worker, "/users", &query).await
    }

    /// Organizations with the text in their name or id.
    pub async fn find_organization(&self, name: &str) -> Done<Vec<Named>> {
        self.list(WhenBusy::Worker, "/organizations", &format!("q={}&", encoded(name))).await
    }
}
