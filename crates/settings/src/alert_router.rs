//! Which alert router is used, and its settings.

pub use bailiwick_outbound::RouterKind;

/// The alert router.
#[derive(Clone, Debug)]
pub enum Router {
    /// In process, state in the database.
    Embedded,
    /// Elsewhere.
    Remote(RemoteRouter),
}

impl Router {
    /// Whether the router is elsewhere and gets the configurations of its tenants from here.
    pub const fn is_provisioned(&self) -> bool {
        match self {
            Router::Remote(remote) => remote.is_provisioned,
            Router::Embedded => false,
        }
    }
}

/// A router elsewhere (spec: alert-router#remote).
#[derive(Clone, Debug)]
pub struct RemoteRouter {
    /// Base address without trailing slash.
    pub url: String,
    /// Path before `/api/v2`, with leading slash or empty.
    pub prefix: String,
    /// Its kind.
    pub kind: RouterKind,
    /// Whether tenants get their configuration from here; routers of kind `plain` have no tenants.
    pub is_provisioned: bool,
}
