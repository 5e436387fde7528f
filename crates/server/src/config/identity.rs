//! The settings of the identity provider: its mode, second factors, and the issuer or tenant of the other modes.

use super::{
    addresses::{ClientUri, HttpUrl},
    section::section,
    value::AnyDuration,
    value_types::Secret,
};
use bailiwick_domain::OrgType;
use bailiwick_settings::{IdentityMode, Issuer, SecondFactorMode, Settings};
use std::time::Duration;

section! {
    /// The identity provider that proves a person's identity.
    Identity in "identity", keys "identity.", fills Settings;
    /// `embedded`: the service is its own OpenID provider under `/oidc`. `oidc`: people sign in at the issuer of
    /// `identity.oidc`. `logto`: at the tenant of `identity.logto`, which gets users and organizations
    /// (docs/identity.md).
    mode: IdentityMode => identity;
    /// How long a generated password can be used for a first sign-in.
    generated_password_lifetime: Duration => provider.generated_password;
    /// Passkeys and codes beside the password, at the embedded provider: `off`, `optional` (everyone may add one; it is
    /// required where the next two settings or an organization require it) or `required` of everyone.
    second_factor: SecondFactorMode => provider.second_factor.mode;
    /// Levels of organizations whose users need a second factor: `owner`, `distributor`, `reseller`, `customer`.
    second_factor_levels: Vec<OrgType> => provider.second_factor.levels;
    /// Roles whose holders need one, by their keys.
    second_factor_roles: Vec<String> => provider.second_factor.roles;
    /// Time to add a second factor once it is required, from the first sign-in without one; `0s` = the sign-in page
    /// adds one at once.
    second_factor_grace: AnyDuration => provider.second_factor.grace;
    /// Redirect addresses of the default client `bailiwick`, compared character by character.
    /// `<public_url>/login-redirect` and `<app_url>/login-redirect` are always accepted, and for the API reference
    /// `<public_url><base path>/docs/signed-in`.
    redirect_uris: Vec<ClientUri> => provider.redirect_uris;
    /// Addresses to which the default client may send a browser after sign-out. `<public_url>/login` and
    /// `<app_url>/login` are always accepted.
    post_logout_redirect_uris: Vec<ClientUri> => provider.post_logout_redirect_uris;
}

section! {
    /// The OpenID Connect issuer of mode `oidc`.
    IdentityOidc in "identity.oidc", keys "identity.oidc.", fills Issuer;
    /// Its address; `/.well-known/openid-configuration` below it says the rest. Needed in mode `oidc`.
    issuer: Option<HttpUrl>;
    /// Clients whose tokens open sessions, by their ids at the issuer. Needed unless tokens of any client are accepted.
    /// Clients of `identity.clients` count too, those of third parties at `/user/profile` and `/user/permissions` only.
    client_ids: Vec<String> => client_ids;
    /// Accept tokens whose client cannot be determined and, when neither `client_ids` nor
    /// `identity.clients` names one of your own, those of every client. Set `audiences` with it.
    accept_any_client: bool => accept_any_client;
    /// Accepted audiences: a token's `aud` must be one of them, for an opaque token the `aud` that introspection
    /// answers. Unset, or where only userinfo can be asked: the audience is not checked.
    audiences: Vec<String> => audiences;
    /// Client id at the introspection endpoint, for opaque tokens.
    introspection_client_id: Option<String>;
    /// Its secret.
    introspection_client_secret: Option<Secret>;
    /// Link a person who signs in for the first time to the one user with the same verified e-mail address.
    link_by_email: bool => link_by_email;
    /// How long the issuer's keys are kept; in mode `logto` too.
    keys_cache: Duration => keys_life, older "JWKS_CACHE_TTL";
    /// Time for fetching the keys; in mode `logto` too.
    keys_timeout: Duration => keys_timeout, older "JWKS_HTTP_TIMEOUT";
}

section! {
    /// The Logto tenant of mode `logto`.
    IdentityLogto in "identity.logto", keys "identity.logto.", fills Issuer;
    /// Its id. Needed in mode `logto`.
    tenant_id: Option<String>, older "LOGTO_TENANT_ID";
    /// Its custom domain. Third-party applications are opened there when Logto says that it is active.
    tenant_domain: Option<String>, older "LOGTO_TENANT_DOMAIN";
    /// Where people sign in. When unset, `https://<tenant_id>.logto.app/oidc`.
    issuer: Option<HttpUrl>;
    /// Base address of the Management API. When unset, `https://<tenant_id>.logto.app/api`.
    management_url: Option<HttpUrl>;
    /// Resource indicator of the Management API. When unset, `https://<tenant_id>.logto.app/api`.
    management_resource: Option<String>;
    /// Id of the machine-to-machine application that may use the Management API. Needed in mode `logto`.
    app_id: Option<String>, older "LOGTO_BACKEND_APP_ID";
    /// Its secret. Needed in mode `logto`.
    app_secret: Option<Secret>, older "LOGTO_BACKEND_APP_SECRET";
    /// Clients whose tokens open sessions, by their app ids. Needed unless tokens of any client are accepted.
    client_ids: Vec<String> => client_ids;
    /// Accept tokens whose client cannot be determined: needed where Logto names no introspection
    /// endpoint. As in `identity.oidc`.
    accept_any_client: bool => accept_any_client;
    /// Accepted audiences. As in `identity.oidc`.
    audiences: Vec<String> => audiences;
    /// Link a person who signs in for the first time to the one user with the same verified e-mail address.
    link_by_email: bool => link_by_email;
    /// Id at Logto of the organization that is the owner organization; linked at the first start. When unset, one is
    /// made there.
    owner_organization_id: Option<String>;
    /// Id at Logto of the account of the first user; linked at the first start. When unset, one is made there.
    owner_user_id: Option<String>;
}
