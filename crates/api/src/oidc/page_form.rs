//! Forms that the provider's own pages send.

use super::{
    cookies,
    form::Form,
    pages::{self, Language, Notice},
};
use axum::{
    extract::{FromRequest, Request},
    response::Response,
};
use bailiwick_app::App;
use bailiwick_identity::{
    Identity,
    oidc::{
        authorize::{Browser, Parameters},
        sign_in,
    },
};
use uuid::Uuid;

/// A form with the browser that has sent it and the language of the answer. The handler checks the form token.
pub struct PageForm {
    /// Language of the answer.
    pub language: Language,
    /// Cookies of the browser.
    pub browser: Browser,
    parameters: Parameters,
}

impl FromRequest<App> for PageForm {
    type Rejection = Response;
    async fn from_request(request: Request, app: &App) -> Result<PageForm, Response> {
        let language = pages::language_of(request.headers());
        let browser = cookies::read(&app.identity, request.headers());
        let Form(parameters) = Form::from_request(request, app).await?;
        Ok(PageForm { language, browser, parameters })
    }
}

impl PageForm {
    /// A field. One that the service's own form cannot send is treated as an empty one.
    pub fn sent(&self, name: &'static str) -> &str {
        self.parameters.one(name).ok().flatten().unwrap_or_default()
    }

    /// The token that the page has put into its form.
    pub fn token(&self) -> &str {
        self.sent("form_token")
    }

    /// The waiting request in the path; none unless its page has sent this form.
    pub fn waiting(&self, identity: &Identity, id: Option<Uuid>) -> Option<Uuid> {
        id.filter(|id| sign_in::is_form_token(identity, &self.browser, *id, self.token()))
    }

    /// The answer to a form that is no longer valid.
    pub fn expired(&self) -> Response {
        pages::notice(self.language, Notice::Expired, None)
    }
}
