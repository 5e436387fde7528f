//! Second factors.

use super::{
    Credential::{Session, User},
    Route, delete, get, post, put,
};
use crate::{manage::second_factors, wire::second_factors as wire};
use bailiwick_policy::Permission::{ManageUsers, ReadUsers};

pub(super) fn rows() -> Vec<Route> {
    vec![
        get("/me/second-factors", "getSecondFactors")
            .extra()
            .credential(User)
            .gives::<wire::SecondFactors>()
            .to(second_factors::show),
        post("/me/second-factors/passkeys/options", "offerPasskey")
            .extra()
            .credential(User)
            .may_answer(&[409])
            .gives::<wire::PasskeyOffer>()
            .to(second_factors::offer_passkey),
        post("/me/second-factors/passkeys", "addPasskey")
            .extra()
            .credential(User)
            .answers(201)
            .takes::<wire::PasskeyInput>()
            .may_answer(&[409])
            .gives::<wire::NewPasskeyOutput>()
            .to(second_factors::add_passkey),
        put("/me/second-factors/passkeys/{id}", "renamePasskey")
            .extra()
            .credential(User)
            .takes::<wire::PasskeyName>()
            .gives_null()
            .to(second_factors::rename_passkey),
        delete("/me/second-factors/passkeys/{id}", "removePasskey")
            .extra()
            .credential(User)
            .may_answer(&[409])
            .gives_null()
            .to(second_factors::remove_passkey),
        post("/me/second-factors/totp/options", "offerAuthenticator")
            .extra()
            .credential(User)
            .gives::<wire::AuthenticatorOffer>()
            .to(second_factors::offer_totp),
        post("/me/second-factors/totp", "addAuthenticator")
            .extra()
            .credential(User)
            .answers(201)
            .takes::<wire::AuthenticatorInput>()
            .gives::<wire::RecoveryCodes>()
            .to(second_factors::add_totp),
        delete("/me/second-factors/totp", "removeAuthenticator")
            .extra()
            .credential(User)
            .may_answer(&[404, 409])
            .gives_null()
            .to(second_factors::remove_totp),
        post("/me/second-factors/recovery-codes", "createRecoveryCodes")
            .extra()
            .credential(User)
            .answers(201)
            .may_answer(&[409])
            .gives::<wire::RecoveryCodes>()
            .to(second_factors::new_recovery_codes),
        delete("/users/{id}/second-factors", "resetSecondFactors")
            .extra()
            .conditional()
            .credential(Session)
            .needs(&[ManageUsers])
            .not_self()
            .gives_null()
            .to(second_factors::reset),
        get("/organizations/{id}/second-factor", "getSecondFactorRequirement")
            .extra()
            .credential(Session)
            .needs(&[ReadUsers])
            .gives::<wire::SecondFactorRequirement>()
            .to(second_factors::requirement),
        put("/organizations/{id}/second-factor", "setSecondFactorRequirement")
            .extra()
            .credential(Session)
            .needs(&[ManageUsers])
            .takes::<wire::SecondFactorRequirementInput>()
            .gives::<wire::SecondFactorRequirement>()
            .to(second_factors::require),
    ]
}
