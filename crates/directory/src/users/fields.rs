//! The fields of a user's body: rules and uniqueness together (spec: users#create step 6).

use crate::Directory;
use bailiwick_domain::{
    Error, Result, User, UserId,
    validate::{self, Email, Fields, Holder, client_keys, free_values},
};
use bailiwick_store::users;
use serde_json::{Map, Value};

/// The fields of a body, absent ones filled in from the present user.
pub(super) struct SentFields<'a> {
    pub name: &'a str,
    pub email: &'a str,
    /// None = to be derived from the address.
    pub username: Option<&'a str>,
    pub phone: Option<&'a str>,
    pub custom_data: Option<Map<String, Value>>,
    /// The present user; none at a creation.
    pub present: Option<&'a User>,
    /// Whether the user's organization accepts new users.
    pub is_organization_active: bool,
    /// For the error about it.
    pub organization_id: &'a str,
}

/// The accepted fields.
pub(super) struct Accepted {
    pub name: String,
    pub email: Email,
    pub username: Option<String>,
    pub phone: Option<String>,
    pub custom_data: Option<Map<String, Value>>,
}

/// The values sent for unique fields, for errors that come from an index.
pub(super) fn sent_values<'a>(
    email: &'a Option<String>,
    username: &'a Option<String>,
    phone: &'a Option<String>,
) -> [(&'static str, &'a str); 3] {
    let text = |value: &'a Option<String>| value.as_deref().unwrap_or_default();
    [("email", text(email)), ("username", text(username)), ("phone", text(phone))]
}

pub(super) async fn accept(service: &Directory, id: UserId, sent: SentFields<'_>) -> Result<Accepted> {
    let present = sent.present;
    // What is stored stays valid: it was accepted under the rules of its time.
    let mut email = match present {
        Some(user) if user.email == sent.email => Ok(Email::stored(sent.email)),
        _ => validate::email(sent.email),
    };
    let name = match present {
        Some(user) if user.name == sent.name => Ok(()),
        _ => validate::display_name(sent.name),
    };
    let mut username = sent
        .username
        .map(|name| validate::username(name, present.map(|u| u.username.as_str())).map(|()| name.to_owned()));
    // The stored value has digits only and may be shorter than the one typed; unchanged, it is accepted.
    let mut phone = match (sent.phone, present) {
        (Some(phone), Some(user)) if user.phone.as_deref() == Some(phone) => Ok(user.phone.clone()),
        (Some(phone), _) => validate::phone(phone),
        (None, _) => Ok(None),
    };
    let free = |name: &Option<validate::Rule<String>>| name.as_ref().and_then(|n| n.clone().ok());
    // Only an identity provider that signs people in by phone needs a number for each of them. Users who shared one
    // before keep it.
    let phone_before = present.and_then(|user| user.phone.as_deref());
    let own_phone = phone.as_ref().ok().and_then(Option::as_deref);
    let own_phone = own_phone.filter(|new| service.identity.logto.is_some() && phone_before != Some(*new));
    let wanted = (free(&username), email.clone().ok(), own_phone);
    let taken =
        users::taken(&service.platform.db, id, wanted.0.as_deref(), wanted.1.as_ref(), wanted.2).await?;
    if taken.email {
        email = Err("already_exists");
    }
    if taken.username {
        username = Some(Err("already_exists"));
    }
    if taken.phone {
        phone = Err("already_exists");
    }
    let mut fields = Fields::new();
    fields.check("name", sent.name, name);
    let email = fields.check("email", sent.email, email);
    let username = username.map(|rule| fields.check("username", sent.username.unwrap_or_default(), rule));
    let phone = fields.check("phone", sent.phone.unwrap_or_default(), phone);
    let custom_data = sent.custom_data.map(|data| client_keys(Holder::User, data));
    if let Some(data) = &custom_data
        && present.and_then(|user| user.custom_data.as_ref()) != Some(data)
    {
        free_values(&mut fields, data);
    }
    if !sent.is_organization_active {
        fields.push("organization_id", "organization is not active", sent.organization_id);
    }
    fields.finish()?;
    Ok(Accepted {
        name: sent.name.to_owned(),
        email: email.ok_or_else(|| Error::internal("an address that is neither right nor wrong"))?,
        username: username.flatten(),
        phone: phone.flatten(),
        custom_data,
    })
}
