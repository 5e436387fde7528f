//! Where a browser goes from the provider: with the response back to the client, or to another page.

use super::{OAuthError, authorize::AuthorizationRequest};
use crate::Identity;
use url::{Url, form_urlencoded};

/// Where the browser goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum BrowserRedirect {
    /// To an address, by 303.
    Address(String),
    /// To the client by a form that the browser posts (`response_mode=form_post`: OAuth 2.0 Form Post Response Mode).
    Form {
        /// The redirect URI.
        action: String,
        /// The parameters of the response.
        fields: Vec<(&'static str, String)>,
    },
}

/// How a response reaches the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientResponse<'a> {
    /// The client's redirect URI.
    pub(super) redirect_uri: &'a str,
    /// Handed back unchanged.
    pub(super) state: Option<&'a str>,
    /// By a form in place of the query.
    pub(super) by_form: bool,
}

impl<'a> ClientResponse<'a> {
    pub(super) fn to(request: &'a AuthorizationRequest) -> ClientResponse<'a> {
        let AuthorizationRequest { redirect_uri, state, by_form, .. } = request;
        ClientResponse { redirect_uri, state: state.as_deref(), by_form: *by_form }
    }

    pub(super) fn code(self, service: &Identity, code: String) -> BrowserRedirect {
        self.with(service, vec![("code", code)])
    }

    pub(super) fn refusal(self, service: &Identity, refused: &OAuthError) -> BrowserRedirect {
        let error = ("error", refused.code.as_str().to_owned());
        self.with(service, vec![error, ("error_description", refused.description.to_string())])
    }

    /// Adds the state and the issuer (RFC 9207).
    fn with(self, service: &Identity, mut fields: Vec<(&'static str, String)>) -> BrowserRedirect {
        fields.extend(self.state.map(|state| ("state", state.to_owned())));
        fields.push(("iss", service.settings.provider_issuer()));
        if self.by_form {
            return BrowserRedirect::Form { action: self.redirect_uri.to_owned(), fields };
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        BrowserRedirect::Address(with_query(self.redirect_uri, &query.extend_pairs(fields).finish()))
    }
}

/// Appends to a query, whether there is one or not; the rest of the address stays unchanged byte by byte.
pub(super) fn with_query(address: &str, query: &str) -> String {
    let separator = if address.contains('?') { '&' } else { '?' };
    format!("{address}{separator}{query}")
}

/// The source that a page's `form-action` must allow so that its form can lead there (spec: openid-provider#endpoints,
/// step 3).
pub fn form_target(redirect_uri: &str) -> Option<String> {
    let url = Url::parse(redirect_uri).ok()?;
    match url.scheme() {
        "http" | "https" => Some(url.origin().ascii_serialization()),
        // An application's own scheme has no origin, so only the scheme can be named.
        scheme => Some(format!("{scheme}:")),
    }
}
