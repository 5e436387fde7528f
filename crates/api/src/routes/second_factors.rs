//! Second factors.

use super::{
    Credential::{Session, User},
    Route, delete, get, post, put,
};
use crate::{manage::second_factors, wire::second_factors as wire};
use bailiwick_policy::Permission::{ManageUsers, ReadUsers};

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/me/second-factors", "getSecondFactors", "Show one's own second factors")
            .extra()
            .credential(User)
            .gives::<wire::SecondFactors>()
            .to(second_factors::show),
        post("/me/second-factors/passkeys/options", "offerPasskey", "What a browser needs to make a passkey")
            .extra()
            .credential(User)
            .may_answer(&[409])
            .gives::<wire::PasskeyOffer>()
            .to(second_factors::offer_passkey),
        post("/me/second-factors/passkeys", "addPasskey", "Add a passkey to one's own account")
            .extra()
            .credential(User)
            .answers(201)
            .takes::<wire::PasskeyInput>()
            .may_answer(&[409])
            .gives::<wire::NewPasskeyOutput>()
            .to(second_factors::add_passkey),
        put("/me/second-factors/passkeys/{id}", "renamePasskey", "Rename one's own passkey")
            .extra()
            .credential(User)
            .takes::<wire::PasskeyName>()
            .gives_null()
            .to(second_factors::rename_passkey),
        delete("/me/second-factors/passkeys/{id}", "removePasskey", "Remove one's own passkey")
            .extra()
            .credential(User)
            .may_answer(&[409])
            .gives_null()
            .to(second_factors::remove_passkey),
        post(
            "/me/second-factors/totp/options",
            "offerAuthenticator",
            "A secret for an authenticator application",
        )
        .extra()
        .credential(User)
        .gives::<wire::AuthenticatorOffer>()
        .to(second_factors::offer_totp),
        post(
            "/me/second-factors/totp",
            "addAuthenticator",
            "Add an authenticator application to one's own account",
        )
        .extra()
        .credential(User)
        .answers(201)
        .takes::<wire::AuthenticatorInput>()
        .gives::<wire::RecoveryCodes>()
        .to(second_factors::add_totp),
        delete(
            "/me/second-factors/totp",
            "removeAuthenticator",
            "Remove one's own authenticator application",
        )
        .extra()
        .credential(User)
        .may_answer(&[404, 409])
        .gives_null()
        .to(second_factors::remove_totp),
        post("/me/second-factors/recovery-codes", "createRecoveryCodes", "Replace one's own recovery codes")
            .extra()
            .credential(User)
            .answers(201)
            .may_answer(&[409])
            .gives::<wire::RecoveryCodes>()
            .to(second_factors::new_recovery_codes),
        delete(
            "/users/{id}/second-factors",
            "resetSecondFactors",
            "Remove the second factors that a user has lost",
        )
        .extra()
        .conditional()
        .credential(Session)
        .needs(&[ManageUsers])
        .not_self()
        .gives_null()
        .to(second_factors::reset),
        get(
            "/organizations/{id}/second-factor",
            "getSecondFactorRequirement",
            "Whether an organization requires a second factor",
        )
        .extra()
        .credential(Session)
        .needs(&[ReadUsers])
        .gives::<wire::SecondFactorRequirement>()
        .to(second_factors::requirement),
        put(
            "/organizations/{id}/second-factor",
            "setSecondFactorRequirement",
            "Require a second factor of an organization and all below it",
        )
        .extra()
        .credential(Session)
        .needs(&[ManageUsers])
        .takes::<wire::SecondFactorRequirementInput>()
        .gives::<wire::SecondFactorRequirement>()
        .to(second_factors::require),
    ]
}
