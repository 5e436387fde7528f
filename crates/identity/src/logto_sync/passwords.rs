//! Passwords at the tenant (spec: account#password-operations): checked and set directly, outside every transaction,
//! and stored nowhere.

use super::LogtoSync;
use crate::Identity;
use bailiwick_domain::{Error, FieldError, Result, UserId};
use bailiwick_outbound::{
    issuer::IssuerError,
    logto::{LogtoError, LogtoRefusal},
};
use bailiwick_store::logto;
use std::{
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
};

/// The account of a user, if they have one.
pub(crate) async fn find(service: &Identity, logto: &LogtoSync, user: UserId) -> Result<Option<String>> {
    Ok(logto::subject(&service.platform.db, logto.issuer(), user).await?)
}

/// The account of a user.
///
/// # Errors
/// 400 `user not synced to Logto` while the user has none.
pub async fn account(service: &Identity, logto: &LogtoSync, user: UserId) -> Result<String> {
    find(service, logto, user).await?.ok_or_else(|| Error::bad_request("user not synced to Logto"))
}

/// Whether it is the account's password: only an explicit refusal means no.
///
/// # Errors
/// 502 and 504 for the provider.
pub(crate) async fn is_password(logto: &LogtoSync, account: &str, password: &str) -> Result<bool> {
    within(logto, logto.client.is_password(account, password)).await
}

/// Sets the account's password. `Some`: the outcome is unknown, because the request was sent and no response arrived.
///
/// # Errors
/// 400 with the reason of the provider's refusal, 502 and 504 for the provider where the password was not set.
pub(crate) async fn set(logto: &LogtoSync, account: &str, password: &str) -> Result<Option<Error>> {
    let is_unknown = AtomicBool::new(false);
    match within(logto, logto.client.set_password(account, password, &is_unknown)).await {
        Ok(()) => Ok(None),
        Err(error) if is_unknown.load(Ordering::SeqCst) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

async fn within<T>(logto: &LogtoSync, request: impl Future<Output = Result<T, LogtoError>>) -> Result<T> {
    match tokio::time::timeout(logto.settings.issuer.patience, request).await {
        Ok(answer) => answer.map_err(to_error),
        Err(_) => Err(to_error(LogtoError::Away(IssuerError::TimedOut))),
    }
}

/// In the texts of spec: account#password-operations and the last table of Appendix A.
fn to_error(error: LogtoError) -> Error {
    match error {
        LogtoError::Away(error) => crate::upstream(error),
        error @ (LogtoError::Missing | LogtoError::Unsupported | LogtoError::Later(_)) => {
            Error::Upstream { message: "identity provider unreachable".into(), log: error.to_string() }
        }
        LogtoError::Refused(LogtoRefusal { fields, .. }) => {
            let error = |(key, code): (String, String)| FieldError::new(key, code);
            Error::Invalid(fields.into_iter().map(error).collect())
        }
    }
}
