//! The claims about a user in ID tokens, userinfo and introspection (spec: openid-provider#endpoints).

use super::{
    Code, ProviderError,
    clients::Client,
    find_token,
    keys::{self, SigningKey},
};
use crate::{Identity, TokenRequest};
use aws_lc_rs::digest;
use bailiwick_domain::{Ts, ports::random_hex};
use bailiwick_store::{
    identities::{self, Identified},
    oidc::{
        grants::Grant,
        tokens::{ProviderTokenKind, Token},
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

/// Names of the claims, for discovery.
pub const CLAIMS: [&str; 17] = [
    "iss",
    "sub",
    "aud",
    "exp",
    "iat",
    "auth_time",
    "amr",
    "nonce",
    "at_hash",
    "sid",
    "name",
    "username",
    "preferred_username",
    "email",
    "email_verified",
    "phone_number",
    "phone_number_verified",
];

/// Whether a scope is among those separated by spaces.
pub(super) fn has_scope(scopes: &str, scope: &str) -> bool {
    scopes.split(' ').any(|word| word == scope)
}

/// The user's claims that the scopes open. A claim without a value is left out (OpenID Connect Core §5.3.2).
fn of_user(user: &Identified, scope: &str) -> Map<String, Value> {
    let mut claims = Map::new();
    claims.insert("sub".into(), json!(user.id));
    if has_scope(scope, "profile") {
        claims.insert("name".into(), json!(user.name));
        claims.insert("username".into(), json!(user.username));
        claims.insert("preferred_username".into(), json!(user.username));
    }
    if has_scope(scope, "email") {
        claims.insert("email".into(), json!(user.email));
        claims.insert("email_verified".into(), json!(user.email_verified));
    }
    if let Some(phone) = user.phone.as_ref().filter(|_| has_scope(scope, "phone")) {
        claims.insert("phone_number".into(), json!(phone));
        claims.insert("phone_number_verified".into(), json!(false));
    }
    claims
}

/// What tokens are issued for.
pub(super) struct Issuance<'a> {
    /// Signs them.
    pub(super) key: &'a SigningKey,
    /// The grant they belong to.
    pub(super) grant: &'a Grant,
    pub(super) user: &'a Identified,
    /// The scopes, perhaps fewer than granted.
    pub(super) scope: &'a str,
    /// The present time.
    pub(super) now: Ts,
}

/// The ID token issued together with an access token.
pub(super) fn id_token(
    service: &Identity,
    issuance: &Issuance<'_>,
    access_token: &str,
) -> Result<String, ProviderError> {
    let Issuance { key, grant, user, scope, now } = *issuance;
    let mut claims = of_user(user, scope);
    let life = i64::try_from(service.settings.provider.access.as_secs()).unwrap_or(i64::MAX);
    let mut insert = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    insert("iss", json!(service.settings.provider_issuer()));
    insert("aud", json!(grant.client_id));
    insert("iat", json!(now.secs()));
    insert("exp", json!(now.secs().saturating_add(life)));
    insert("auth_time", json!(grant.auth_at.secs()));
    insert("amr", json!(grant.methods.amr()));
    insert("at_hash", json!(at_hash(access_token)));
    insert("sid", json!(grant.login_id));
    if let Some(nonce) = &grant.nonce {
        insert("nonce", json!(nonce));
    }
    Ok(key.sign("JWT", &claims)?)
}

/// Left half of the digest that the signature algorithm uses (OpenID Connect Core §3.1.3.6).
fn at_hash(access_token: &str) -> String {
    let digest = digest::digest(&digest::SHA384, access_token.as_bytes());
    let (left, _) = digest.as_ref().split_at(digest.as_ref().len() / 2);
    URL_SAFE_NO_PAD.encode(left)
}

/// An access token for a resource (RFC 9068). It is stored like any other, so it can be revoked like any other.
pub(super) fn access_jwt(
    service: &Identity,
    issuance: &Issuance<'_>,
    resource: &str,
) -> Result<String, ProviderError> {
    let Issuance { key, grant, scope, now, .. } = *issuance;
    let life = i64::try_from(service.settings.provider.access.as_secs()).unwrap_or(i64::MAX);
    let claims = json!({
        "iss": service.settings.provider_issuer(),
        "sub": grant.user_id,
        "aud": resource,
        "client_id": grant.client_id,
        "scope": scope,
        "iat": now.secs(),
        "exp": now.secs().saturating_add(life),
        "jti": random_hex::<16>(&*service.platform.entropy),
    });
    Ok(key.sign("at+jwt", &claims)?)
}

/// `GET /oidc/me`.
pub async fn userinfo(service: &Identity, access_token: &str) -> Result<Map<String, Value>, ProviderError> {
    let invalid =
        || ProviderError::new(Code::InvalidToken, "the access token is unknown, expired or revoked");
    let token = find_token(service, access_token).await?.ok_or_else(invalid)?;
    if token.kind != ProviderTokenKind::Access || !token.is_alive(service.platform.now()) {
        return Err(invalid());
    }
    let user = identities::get(&service.platform.db, token.grant.user_id).await?;
    let user = user.filter(|user| user.standing.is_enabled()).ok_or_else(invalid)?;
    if !has_scope(&token.scope, "openid") {
        return Err(ProviderError::new(Code::InsufficientScope, "the access token was not given for openid"));
    }
    Ok(of_user(&user, &token.scope))
}

/// `POST /oidc/token/introspection` (RFC 7662); for confidential clients. A client learns of its own tokens, and a
/// first-party one of other clients' access tokens too; the others are inactive to it.
///
/// # Errors
/// `invalid_client` when the client has no secret.
pub async fn introspect(
    service: &Identity,
    client: &Client,
    counted: TokenRequest,
    token: &str,
) -> Result<Value, ProviderError> {
    if client.is_public() {
        return Err(ProviderError::new(Code::InvalidClient, "introspection is for confidential clients"));
    }
    let now = service.platform.now();
    let inactive = json!({"active": false});
    let Some(token) = counted.beside(find_token(service, token)).await? else { return Ok(inactive) };
    let is_own = token.grant.client_id == client.id();
    let may_learn = is_own || (client.is_first_party() && token.kind == ProviderTokenKind::Access);
    if !may_learn || !token.is_alive(now) || token.rotated_at.is_some() {
        return Ok(inactive);
    }
    let user = identities::get(&service.platform.db, token.grant.user_id).await?;
    let user = user.filter(|user| user.standing.is_enabled());
    Ok(user.map_or(inactive, |user| active(service, &token, &user)))
}

fn active(service: &Identity, token: &Token, user: &Identified) -> Value {
    let mut answer = json!({
        "active": true,
        "iss": service.settings.provider_issuer(),
        "sub": user.id,
        "client_id": token.grant.client_id,
        "username": user.username,
        "scope": token.scope,
        "iat": token.created_at.secs(),
        "exp": token.expires_at.secs(),
    });
    if let (Some(answer), ProviderTokenKind::Access) = (answer.as_object_mut(), token.kind) {
        answer.insert("token_type".into(), json!("Bearer"));
        if let Some(resource) = &token.grant.resource {
            answer.insert("aud".into(), json!(resource));
        }
    }
    answer
}

/// `GET /oidc/.well-known/openid-configuration`.
pub fn discovery(service: &Identity) -> Value {
    let issuer = service.settings.provider_issuer();
    let url = |path: &str| format!("{issuer}{path}");
    json!({
        "issuer": issuer,
        "authorization_endpoint": url("/auth"),
        "token_endpoint": url("/token"),
        "userinfo_endpoint": url("/me"),
        "jwks_uri": url("/jwks"),
        "revocation_endpoint": url("/token/revocation"),
        "introspection_endpoint": url("/token/introspection"),
        "end_session_endpoint": url("/session/end"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "form_post"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "id_token_signing_alg_values_supported": ["ES384"],
        "subject_types_supported": ["public"],
        "scopes_supported": super::authorize::SCOPES,
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "revocation_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "claims_supported": CLAIMS,
        "prompt_values_supported": ["none", "login", "consent"],
        "ui_locales_supported": ["en", "it"],
        "authorization_response_iss_parameter_supported": true,
        "request_parameter_supported": false,
        "request_uri_parameter_supported": false,
    })
}

/// `GET /oidc/jwks`.
pub async fn jwks(service: &Identity) -> Result<Value, ProviderError> {
    Ok(keys::published(service).await?)
}
