//! Refusals in the terms of the protocol (RFC 6749 §4.1.2.1, §5.2; RFC 8707; OpenID Connect Core §3.1.2.6).

use bailiwick_domain::Error;
use bailiwick_store::StoreError;
use std::borrow::Cow;

/// Error codes of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// The client is unknown or could not be authenticated.
    InvalidClient,
    /// The code or refresh token is invalid, or not for this client.
    InvalidGrant,
    /// The client may not use this grant.
    UnauthorizedClient,
    /// Neither `authorization_code` nor `refresh_token`.
    UnsupportedGrantType,
    /// Only `code` exists.
    UnsupportedResponseType,
    /// More than was granted.
    InvalidScope,
    /// A resource other than the service itself.
    InvalidTarget,
    /// `prompt=none` without a browser login.
    LoginRequired,
    /// `prompt=none`, and the user has not consented to the requested scopes.
    ConsentRequired,
    /// This user may not use the client, or did not allow it.
    AccessDenied,
    /// Request objects are not supported.
    RequestNotSupported,
    /// Request objects by reference are not supported either.
    RequestUriNotSupported,
    /// The bearer token of userinfo.
    InvalidToken,
    /// Userinfo with a token that was not given for `openid`.
    InsufficientScope,
}

impl Code {
    /// The word of the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::InvalidRequest => "invalid_request",
            Code::InvalidClient => "invalid_client",
            Code::InvalidGrant => "invalid_grant",
            Code::UnauthorizedClient => "unauthorized_client",
            Code::UnsupportedGrantType => "unsupported_grant_type",
            Code::UnsupportedResponseType => "unsupported_response_type",
            Code::InvalidScope => "invalid_scope",
            Code::InvalidTarget => "invalid_target",
            Code::LoginRequired => "login_required",
            Code::ConsentRequired => "consent_required",
            Code::AccessDenied => "access_denied",
            Code::RequestNotSupported => "request_not_supported",
            Code::RequestUriNotSupported => "request_uri_not_supported",
            Code::InvalidToken => "invalid_token",
            Code::InsufficientScope => "insufficient_scope",
        }
    }
}

/// An error of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthError {
    pub code: Code,
    /// For the client's developer; never a value the client sent.
    pub description: Cow<'static, str>,
}

impl OAuthError {
    /// A refusal.
    pub fn new(code: Code, description: impl Into<Cow<'static, str>>) -> OAuthError {
        OAuthError { code, description: description.into() }
    }
}

/// Why a request of the provider was not served.
#[derive(Debug)]
pub enum ProviderError {
    /// The client's mistake.
    Protocol(OAuthError),
    /// Ours, or an overload.
    Fault(Error),
}

impl ProviderError {
    pub(crate) fn new(code: Code, description: impl Into<Cow<'static, str>>) -> ProviderError {
        ProviderError::Protocol(OAuthError::new(code, description))
    }

    /// One text for every problem of a code or a refresh token.
    pub(crate) fn invalid_grant() -> ProviderError {
        ProviderError::new(
            Code::InvalidGrant,
            "the grant is invalid, expired, revoked, or belongs to another client",
        )
    }
}

impl From<OAuthError> for ProviderError {
    fn from(refused: OAuthError) -> ProviderError {
        ProviderError::Protocol(refused)
    }
}

impl From<Error> for ProviderError {
    fn from(error: Error) -> ProviderError {
        ProviderError::Fault(error)
    }
}

impl From<StoreError> for ProviderError {
    fn from(error: StoreError) -> ProviderError {
        ProviderError::Fault(error.into())
    }
}
