//! Sessions: the service's own tokens, the chains behind them, and the caller of a bearer token (spec:
//! authentication#bearer-errors, authentication#identity-modes).

mod bearer;
mod fresh_sign_in;
mod grouped_refresh;
mod open_sessions;
mod own_sessions;
mod password_limit;
mod revoke;
mod sessions;
mod token_lookup;
mod tokens;
mod user_object;

pub use bearer::{BearerRequest, bearer_token, is_api_key};
pub(crate) use bearer::{
    MAX_TOKEN_BYTES, authenticate_access_token, invalid, is_own, refuse_disabled, suspended, unreadable,
};
pub use fresh_sign_in::{check_fresh_sign_in, is_fresh_sign_in_required};
pub(crate) use grouped_refresh::RefreshTurn;
pub use grouped_refresh::{Refreshes, TokenLifetimes};
pub use open_sessions::{OpenSessions, end_open, open_of};
pub use own_sessions::{OwnSession, end_other_sessions, end_session, own_sessions};
pub use password_limit::{Failures, GuessTarget};
pub(crate) use revoke::revoke_chain;
pub use revoke::{Destroyed, end_impersonations_of_destroyed, end_impersonations_of_revoked};
pub use revoke::{Reason, revoke_all, revoke_login_chains, revoke_organization, revoke_user};
pub use sessions::{Session, chain_of, issue_operator_token, issue_token, logout, purge_expired, refresh};
pub(crate) use sessions::{SignIn, resume, start};
pub use token_lookup::TokenLookup;
pub use tokens::{impersonation_token, verify_impersonation};
pub use user_object::judged_user;
pub use user_object::{UserObject, identity_of, object_of, user_object};
