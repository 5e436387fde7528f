//! Sessions: the service's own tokens, the chains behind them, and who a bearer speaks for (spec:
//! authentication#bearer-errors, authentication#identity-modes).

mod bearer;
mod bearers;
mod chains;
mod failures;
mod open;
mod profile;
mod refreshes;
mod revoke;
mod tokens;
mod user_object;

pub use bearer::{BearerRequest, authenticate_bearer, bearer_token, is_api_key};
pub(crate) use bearer::{MAX_TOKEN_BYTES, invalid, refuse_disabled, suspended, unreadable};
pub use bearers::Bearers;
pub(crate) use chains::resume;
pub use chains::{Session, chain_of, exchange, issue_token, logout, purge_expired, refresh};
pub use failures::{Failures, Guessed};
pub use open::{Open, end_open, open_of};
pub(crate) use profile::is_own;
pub use profile::{object_of, user_of_any_token};
pub use refreshes::{Lives, Refreshes};
pub use revoke::{Destroyed, end_impersonations_of_destroyed, end_impersonations_of_revoked};
pub use revoke::{Reason, revoke_login_chains, revoke_organization, revoke_user};
pub use tokens::{impersonation_token, verify_impersonation};
pub use user_object::judged_user;
pub use user_object::{UserObject, identity_of, user_object};
