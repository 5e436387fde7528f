//! Organizations, users and roles, their import and export, pictures and rebranding.
//!
//! To add a use case, write a function in the module of its resource that takes `&Directory` and the `Caller`, loads
//! its target, calls `policy::decide`, opens one write transaction, writes the audit row in it and commits.

pub mod audit;
pub mod avatars;
pub mod creators;
pub mod exports;
pub mod images;
pub mod imports;
pub mod objects;
pub mod organizations;
pub mod rebranding;
pub mod roles;
pub mod users;

use avatars::Pictures;
use bailiwick_events::Events;
use bailiwick_identity::Identity;
use bailiwick_platform::{Platform, limits::AddressLimit};
use bailiwick_settings::Settings;
use exports::Exports;
use images::Images;
use objects::Objects;
use rebranding::Rebranding;
use std::sync::Arc;

/// Organizations, users and related data. Cloning it is cheap.
#[derive(Clone)]
pub struct Directory(Arc<Parts>);

bailiwick_platform::service!(Directory, Parts);

/// The parts of [`Directory`].
pub struct Parts {
    /// Database, clock, keys and limits.
    pub platform: Platform,
    /// Settings of all services.
    pub settings: Arc<Settings>,
    /// Events and mail.
    pub events: Events,
    /// Sign-in and credentials.
    pub identity: Identity,
    /// Limit of exports that are made and sent at once.
    pub exports: Exports,
    /// Limit of pictures that are decoded at once.
    pub(crate) pictures: Pictures,
    /// Limit of requests to the public pictures by client address.
    pub avatar_requests: AddressLimit,
    /// Object storage.
    pub objects: Objects,
    /// Cache of images.
    pub images: Images,
    /// Known products, and the limit of uploads.
    pub rebranding: Rebranding,
}

impl Directory {
    /// Puts the parts together. It reads nothing and starts nothing.
    pub fn new(identity: Identity) -> Directory {
        let limits = &identity.settings.limits;
        Directory(Arc::new(Parts {
            exports: Exports::default(),
            pictures: Pictures::new(),
            avatar_requests: AddressLimit::new(
                identity.platform.clock.clone(),
                limits.avatar_requests_per_second,
                limits.avatar_request_burst,
            ),
            objects: Objects::new(identity.settings.clone()),
            images: Images::default(),
            rebranding: Rebranding::default(),
            platform: identity.platform.clone(),
            settings: identity.settings.clone(),
            events: identity.events.clone(),
            identity,
        }))
    }
}
