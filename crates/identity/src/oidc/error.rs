//! Refusals in the terms of the protocol (RFC 6749 §4.1.2.1, §5.2; RFC 8707; OpenID Connect Core §3.1.2.6), and those
//! of a sign-in on its pages.

use bailiwick_domain::Error;
use bailiwick_store::StoreError;
use std::{borrow::Cow, time::Duration};

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

/// Why a sign-in did not go on.
#[derive(Debug)]
pub enum SignInError {
    /// One answer for every problem of name and password.
    WrongCredentials,
    /// The password was right, but the user or an organization above the user is suspended.
    AccountSuspended,
    /// Failed too often.
    TooMany {
        /// When to come back.
        retry_after: Duration,
    },
    /// The request has expired, is answered already, or belongs to another browser.
    Gone,
    /// The new password is not acceptable: a code of spec: account#password-strength, `unchanged` or `mismatch`.
    WeakPassword(&'static str),
    /// A generated password must be replaced first, which a script cannot do.
    MustReplacePassword,
    /// The code or passkey is wrong, or was used before.
    WrongFactor,
    /// Too many wrong codes in a row: only another factor helps.
    CodesExhausted,
    /// A second factor must be proved first.
    MustProveFactor,
    /// A second factor must be added first, which a script cannot do.
    MustAddFactor,
    /// No password was entered yet.
    NotIdentified,
    /// A fault of ours.
    Fault(Error),
}

impl From<Error> for SignInError {
    fn from(error: Error) -> SignInError {
        match error {
            Error::TooMany { retry_after } => SignInError::TooMany { retry_after },
            error => SignInError::Fault(error),
        }
    }
}

impl From<StoreError> for SignInError {
    fn from(error: StoreError) -> SignInError {
        SignInError::Fault(error.into())
    }
}
