//! The caller's own account (spec: account#me).

use crate::{
    envelope::Answer,
    error::Outcome,
    extract::{Ctx, JsonBody, Service, Who},
    wire::session::{InfoChange, InfoChanged, PasswordChange, SessionUser},
};
use bailiwick_directory::{
    Directory,
    users::{self, OwnInfo},
};
use bailiwick_identity::{
    Identity, auth,
    passwords::{self, OwnChange},
};

/// `GET /me`.
pub async fn show(Who(caller): Who) -> Outcome<Answer<SessionUser>> {
    Ok(Answer::ok("user information retrieved successfully", auth::object_of(&caller)?.into()))
}

/// `POST /me/change-password`.
pub async fn change_password(
    Service(identity): Service<Identity>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<()>> {
    let body = || {
        let body: PasswordChange = body.parse_request()?;
        let (current, new) = (body.current_password, body.new_password);
        Ok(OwnChange { current: current.unwrap_or_default(), new: new.unwrap_or_default() })
    };
    passwords::change_own(&identity, &caller, &request, body).await?;
    Ok(Answer::ok("password changed successfully", ()))
}

/// `POST /me/change-info`.
pub async fn change_info(
    Service(directory): Service<Directory>,
    Who(caller): Who,
    Ctx(request): Ctx,
    body: JsonBody,
) -> Outcome<Answer<InfoChanged>> {
    let body = || {
        let InfoChange { name, email, phone } = body.parse_request()?;
        Ok(OwnInfo { name, email, phone })
    };
    let updated = users::change_own_info(&directory, &caller, &request, body).await?;
    Ok(Answer::ok("profile updated successfully", InfoChanged { updated_fields: updated }))
}
