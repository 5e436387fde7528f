//! One row of the route table: the path of a route, its credential, its permission, its request and its answers.

use crate::{query_key::QueryKey, schema::SchemaOf};
use axum::{
    handler::Handler,
    routing::{MethodFilter, MethodRouter},
};
use bailiwick_app::App;
use bailiwick_domain::OrgType;
use bailiwick_policy::{Permission, RebrandingChange};
use bailiwick_web::routing::{self, Answer};
use http::Method;
use std::time::Duration;

/// The operation that makes the caller act as another user.
pub(crate) const START_IMPERSONATION: &str = "startImpersonation";
/// The way back from it.
pub(crate) const END_IMPERSONATION: &str = "endImpersonation";

/// The kind of credential that a route needs (spec: authorization#credentials).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// None.
    Public,
    /// The secret of the history webhook; the handler compares it.
    HistoryWebhook,
    /// A provider token or a session token; the handler verifies it (`/user/*`).
    Provider,
    /// `U`: a user's session token, not while impersonating, no API key.
    User,
    /// `J`: a session or impersonation token.
    Session,
    /// `JK`: those and API keys.
    SessionOrKey,
    /// A personal API key, as `Bearer` or as the password of `Basic`.
    ApiKey,
    /// `B`: a system's key and secret.
    System,
    /// A system's key and secret, or its older pair; only where the settings accept older pairs (spec:
    /// systems-interface#older-paths).
    SystemOrLegacy,
    /// A system's older pair, registered or not; with the same condition.
    Legacy,
}

impl Credential {
    /// For `WWW-Authenticate`.
    pub const fn challenge(self) -> &'static str {
        match self {
            Credential::System | Credential::SystemOrLegacy | Credential::Legacy => {
                "Basic realm=\"System Authentication\""
            }
            Credential::ApiKey => "Bearer, Basic realm=\"API key as the password\"",
            _ => "Bearer",
        }
    }

    /// Whether systems call with it.
    pub const fn is_of_system(self) -> bool {
        matches!(self, Credential::System | Credential::SystemOrLegacy | Credential::Legacy)
    }

    /// Whether its routes exist only with `systems.legacy_aliases`.
    pub const fn is_of_alias(self) -> bool {
        matches!(self, Credential::SystemOrLegacy | Credential::Legacy)
    }
}

/// The permission that the caller needs (spec: operations#route-table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Any caller with the right kind of credential.
    Open,
    /// All of these permissions.
    Needs(&'static [Permission]),
    /// One of these permissions.
    OneOf(&'static [Permission]),
    /// This permission, or the caller's own organization in the path.
    OwnOrganizationOr(Permission),
    /// Owner organization with `manage:distributors`, and for assets also callers that
    /// `rebranding.organizations_manage_assets` admits; else 403 `only owner organization can <verb> rebranding`.
    Rebranding(RebrandingChange),
}

/// Core: in the interface specification. Extra: beyond it, existing clients use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// In the specification.
    Core,
    /// Beyond it.
    Extra,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub enum Body {
    /// None.
    Empty,
    /// JSON.
    Json(SchemaOf),
    /// JSON, or nothing.
    OptionalJson(SchemaOf),
    /// A form with a file in this part.
    File(&'static str),
    /// A form with some of these parts; whether each is a file.
    Form(&'static [(&'static str, bool)]),
    /// Any bytes.
    Bytes,
}

/// What a success carries.
#[derive(Clone, Copy)]
pub enum Content {
    /// Nothing, or what an Alertmanager sends there.
    Undescribed,
    /// `data` of the envelope, or the whole answer if the alerting proxy serves the row.
    Json(SchemaOf),
    /// `data` of the envelope, or null.
    JsonOrNull(SchemaOf),
    /// A file of one of these media types, without envelope.
    File(&'static [&'static str]),
}

impl Content {
    /// The schema of JSON.
    pub(crate) const fn schema(&self) -> Option<&SchemaOf> {
        match self {
            Content::Json(schema) | Content::JsonOrNull(schema) => Some(schema),
            Content::Undescribed | Content::File(_) => None,
        }
    }
}

/// A list in an answer: its name within `data` (empty: `data` itself), and the fields of its default order, a minus
/// before descending ones.
pub(crate) type DefaultOrder = (&'static str, &'static [&'static str]);

/// The handler of the row.
#[derive(Clone)]
enum Served {
    /// A handler behind the gate.
    Here(Box<MethodRouter<App>>),
    /// The alerting proxy, which has rules of its own for paths, methods and errors (spec: alerts#system-interface).
    Proxy,
}

/// One row.
#[derive(Clone)]
pub struct Route {
    /// GET also answers HEAD.
    pub method: Method,
    /// Path below a base path.
    pub path: String,
    /// OpenAPI operation id, unique.
    pub operation: String,
    /// One line of what it does.
    pub summary: String,
    /// Core or extra.
    pub class: Class,
    /// Kind of credential.
    pub credential: Credential,
    /// Permission.
    pub gate: Gate,
    /// Refused if the path has the caller's own user id (spec: users#scope).
    pub not_self: bool,
    /// Text of a 500, where the operation has one.
    pub failed: Option<&'static str>,
    /// Longest time of an answer, including reading the body (spec: conventions#limits).
    pub answers_within: Duration,
    /// Organization family, for handlers shared by the three.
    pub family: Option<OrgType>,
    /// Status of success, for OpenAPI.
    pub success: u16,
    /// Whether it concerns one entity with a tag and supports `If-Match` and `If-None-Match`.
    pub is_conditional: bool,
    /// Keys of the query.
    pub(crate) query: Vec<QueryKey>,
    /// Body of the request.
    pub body: Body,
    /// What a success carries.
    pub content: Content,
    /// Default orders of the lists in it.
    pub(crate) order: &'static [DefaultOrder],
    /// What fields alone do not tell of an order.
    pub(crate) order_note: &'static str,
    /// Refusals that do not follow from credential, path and body, for OpenAPI.
    pub may_answer: &'static [u16],
    /// Its series in the metrics ([`crate::route_metrics`]).
    pub(crate) place: usize,
    /// None only while a row is being put together.
    served: Option<Served>,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Route {
    pub(crate) fn new(
        method: Method,
        path: impl Into<String>,
        operation: impl Into<String>,
        summary: impl Into<String>,
    ) -> Route {
        Route {
            method,
            path: path.into(),
            operation: operation.into(),
            summary: summary.into(),
            class: Class::Core,
            credential: Credential::SessionOrKey,
            gate: Gate::Open,
            not_self: false,
            failed: None,
            answers_within: Duration::from_secs(30),
            family: None,
            success: 200,
            is_conditional: false,
            query: Vec::new(),
            body: Body::Empty,
            content: Content::Undescribed,
            order: &[],
            order_note: "",
            may_answer: &[],
            place: 0,
            served: None,
        }
    }

    /// A row with this gate.
    #[must_use]
    pub(crate) fn gate(self, gate: Gate) -> Route {
        Route { gate, ..self }
    }

    #[must_use]
    pub(crate) fn needs(self, permissions: &'static [Permission]) -> Route {
        self.gate(Gate::Needs(permissions))
    }

    #[must_use]
    pub(crate) fn needs_one_of(self, permissions: &'static [Permission]) -> Route {
        self.gate(Gate::OneOf(permissions))
    }

    #[must_use]
    pub(crate) fn credential(self, credential: Credential) -> Route {
        Route { credential, ..self }
    }

    #[must_use]
    pub(crate) fn extra(self) -> Route {
        Route { class: Class::Extra, ..self }
    }

    #[must_use]
    pub(crate) fn not_self(self) -> Route {
        Route { not_self: true, ..self }
    }

    #[must_use]
    pub(crate) fn failing(self, text: &'static str) -> Route {
        Route { failed: Some(text), ..self }
    }

    #[must_use]
    pub(crate) fn answers_within(self, time: Duration) -> Route {
        Route { answers_within: time, ..self }
    }

    #[must_use]
    pub(crate) fn family(self, family: OrgType) -> Route {
        Route { family: Some(family), ..self }
    }

    #[must_use]
    pub(crate) fn answers(self, status: u16) -> Route {
        Route { success: status, ..self }
    }

    /// Conditions on the state of its entity are supported; the use case must check them
    /// (`bailiwick_platform::conditions`).
    #[must_use]
    pub(crate) fn conditional(self) -> Route {
        Route { is_conditional: true, ..self }
    }

    /// More keys of the query.
    #[must_use]
    pub(crate) fn query(mut self, keys: impl IntoIterator<Item = QueryKey>) -> Route {
        self.query.extend(keys);
        self
    }

    /// The default orders of its lists.
    #[must_use]
    pub(crate) fn ordered(self, order: &'static [DefaultOrder]) -> Route {
        Route { order, ..self }
    }

    /// What fields alone do not tell of an order.
    #[must_use]
    pub(crate) fn order_note(self, order_note: &'static str) -> Route {
        Route { order_note, ..self }
    }

    /// The body is JSON.
    #[must_use]
    pub(crate) fn takes<T: utoipa::ToSchema>(self) -> Route {
        Route { body: Body::Json(SchemaOf::of::<T>()), ..self }
    }

    /// The body is JSON or empty.
    #[must_use]
    pub(crate) fn takes_if_any<T: utoipa::ToSchema>(self) -> Route {
        Route { body: Body::OptionalJson(SchemaOf::of::<T>()), ..self }
    }

    /// The body is a form with a file in this part.
    #[must_use]
    pub(crate) fn takes_file(self, part: &'static str) -> Route {
        Route { body: Body::File(part), ..self }
    }

    /// The body is a form with some of these parts; whether each is a file.
    #[must_use]
    pub(crate) fn takes_form(self, parts: &'static [(&'static str, bool)]) -> Route {
        Route { body: Body::Form(parts), ..self }
    }

    /// The body is any bytes.
    #[must_use]
    pub(crate) fn takes_bytes(self) -> Route {
        Route { body: Body::Bytes, ..self }
    }

    /// The answer is JSON.
    #[must_use]
    pub(crate) fn gives<T: utoipa::ToSchema>(self) -> Route {
        Route { content: Content::Json(SchemaOf::of::<T>()), ..self }
    }

    /// `data` may be null.
    #[must_use]
    pub(crate) fn gives_or_null<T: utoipa::ToSchema>(self) -> Route {
        Route { content: Content::JsonOrNull(SchemaOf::of::<T>()), ..self }
    }

    /// `data` is always null.
    #[must_use]
    pub(crate) fn gives_null(self) -> Route {
        Route { content: Content::Json(SchemaOf::null()), ..self }
    }

    /// The answer is a file of one of these media types.
    #[must_use]
    pub(crate) fn gives_file(self, media_types: &'static [&'static str]) -> Route {
        Route { content: Content::File(media_types), ..self }
    }

    /// Refusals beside those that every such route can give.
    #[must_use]
    pub(crate) fn may_answer(self, statuses: &'static [u16]) -> Route {
        Route { may_answer: statuses, ..self }
    }

    /// The handler.
    #[must_use]
    pub(crate) fn to<H, T>(self, handler: H) -> Route
    where
        H: Handler<T, App, Future = Answer>,
    {
        let filter = MethodFilter::try_from(self.method.clone()).unwrap_or(MethodFilter::GET);
        Route { served: Some(Served::Here(Box::new(routing::route(filter, handler)))), ..self }
    }

    #[must_use]
    pub(crate) fn by_proxy(self) -> Route {
        Route { served: Some(Served::Proxy), ..self }
    }

    /// Whether it has a handler; a test checks that every row has one.
    pub const fn is_served(&self) -> bool {
        self.served.is_some()
    }

    /// Whether its body is a file, or a form with files: such a body is streamed, and never recorded.
    pub const fn is_upload(&self) -> bool {
        matches!(self.body, Body::File(_) | Body::Form(_) | Body::Bytes)
    }

    /// Whether a success is a file.
    pub const fn gives_a_file(&self) -> bool {
        matches!(self.content, Content::File(_))
    }

    /// Whether it is described what a success carries.
    pub const fn is_described(&self) -> bool {
        !matches!(self.content, Content::Undescribed)
    }

    /// Whether it starts an impersonation: it then has its own message for callers that are already impersonating.
    pub fn starts_impersonation(&self) -> bool {
        self.operation == START_IMPERSONATION
    }

    /// Whether it is the way back from that.
    pub fn ends_impersonation(&self) -> bool {
        self.operation == END_IMPERSONATION
    }

    /// Whether the alerting proxy serves it.
    pub const fn is_proxied(&self) -> bool {
        matches!(self.served, Some(Served::Proxy))
    }

    /// The axum handler, unless the proxy serves the row.
    pub(crate) fn handler(&self) -> Option<MethodRouter<App>> {
        match &self.served {
            Some(Served::Here(handler)) => Some(MethodRouter::clone(handler)),
            Some(Served::Proxy) | None => None,
        }
    }
}

pub(crate) fn get(
    path: impl Into<String>,
    operation: impl Into<String>,
    summary: impl Into<String>,
) -> Route {
    Route::new(Method::GET, path, operation, summary)
}
pub(crate) fn post(
    path: impl Into<String>,
    operation: impl Into<String>,
    summary: impl Into<String>,
) -> Route {
    Route::new(Method::POST, path, operation, summary)
}
pub(crate) fn put(
    path: impl Into<String>,
    operation: impl Into<String>,
    summary: impl Into<String>,
) -> Route {
    Route::new(Method::PUT, path, operation, summary)
}
pub(crate) fn patch(
    path: impl Into<String>,
    operation: impl Into<String>,
    summary: impl Into<String>,
) -> Route {
    Route::new(Method::PATCH, path, operation, summary)
}
pub(crate) fn delete(
    path: impl Into<String>,
    operation: impl Into<String>,
    summary: impl Into<String>,
) -> Route {
    Route::new(Method::DELETE, path, operation, summary)
}
