//! A real OpenID Connect provider (oidc-provider of npm) that signs in any user a test names.

use super::{
    PartError, Result, answers_ok, ports,
    process::{Process, Stop},
    programs,
    scratch::Scratch,
};
use std::path::PathBuf;
use tokio::sync::OnceCell;

const PROGRAM: &str = include_str!("../../provider/provider.mjs");

/// A PKCE pair; which one does not matter here.
const VERIFIER: &str = "a-verifier-of-the-tests-that-is-long-enough-for-it";
const CHALLENGE: &str = "G44zNv9T3MZGnnKpm5aPlLHSAtbVx-A1VGOiUmZHSvM";

/// The audience of tokens for a resource, unless they are requested for another one.
pub const AUDIENCE: &str = "https://api.example";

/// Id and secret of the client that may introspect.
pub const INTROSPECTOR: (&str, &str) = ("introspector", "a secret: with 100% of signs + more");

/// The running provider. It ends when the value is dropped.
#[derive(Debug)]
pub struct IdentityProvider {
    port: u16,
    process: Process,
}

static SHARED: OnceCell<Result<IdentityProvider>> = OnceCell::const_new();

/// The provider shared by all tests of the process that do not change it.
///
/// # Errors
/// As [`IdentityProvider::start`].
pub async fn shared() -> Result<&'static IdentityProvider> {
    SHARED.get_or_init(IdentityProvider::start).await.as_ref().map_err(Clone::clone)
}

impl IdentityProvider {
    /// Starts one with keys of its own.
    ///
    /// # Errors
    /// When node or the provider are not installed, or it does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_on(ports::spare()?, None).await
    }

    /// Starts one where the client `bailiwick` is a browser application at this origin.
    ///
    /// # Errors
    /// As [`IdentityProvider::start`].
    pub async fn start_for(origin: &str) -> Result<Self> {
        Self::start_on(ports::spare()?, Some(origin)).await
    }

    /// Ends it and starts one with other keys in its place.
    ///
    /// # Errors
    /// As [`IdentityProvider::start`].
    pub async fn restart(self) -> Result<Self> {
        let port = self.port;
        drop(self);
        Self::start_on(port, None).await
    }

    async fn start_on(port: u16, application: Option<&str>) -> Result<Self> {
        let node = programs::find(&["node", "nodejs"], "nodejs", &[])?;
        let modules = modules()?;
        let scratch = Scratch::new("identity-provider")?;
        let program = scratch.write("provider.mjs", PROGRAM)?;
        let arguments = [program, modules, PathBuf::from(port.to_string())];
        let arguments = arguments.into_iter().chain(application.map(PathBuf::from));
        let process = Process::start(scratch, &node, arguments, Stop::Kill)?;
        let provider = Self { port, process };
        let description = format!("{}/.well-known/openid-configuration", provider.url());
        provider.process.wait_until_ready(|| answers_ok(description.clone())).await?;
        Ok(provider)
    }

    /// The issuer, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// An access token of a client (`bailiwick`, `wiki`, `stranger`) for a person (`<name>~<e-mail>~<verified>`, which
    /// is also the subject), by the authorization code flow. Without `form` it is opaque; else a JWT signed with the
    /// algorithm before the first comma, with the peculiarities that follow (provider.mjs).
    ///
    /// # Errors
    /// When the provider refuses.
    pub async fn token(&self, client: &str, person: &str, form: Option<&str>) -> Result<String> {
        Ok(self.tokens(client, person, form).await?["access_token"].as_str().unwrap_or_default().to_owned())
    }

    /// The whole answer of the token endpoint.
    ///
    /// # Errors
    /// When the provider refuses.
    pub async fn tokens(&self, client: &str, person: &str, form: Option<&str>) -> Result<serde_json::Value> {
        let failed = |e: reqwest::Error| PartError::new(format!("the identity provider: {e}"));
        let browser = reqwest::Client::builder()
            .cookie_store(true)
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(failed)?;
        let back = format!("https://{client}.example.org/cb");
        let resource = form.map(|form| format!("{AUDIENCE}/{form}"));
        let mut query = vec![
            ("client_id", client),
            ("redirect_uri", &back),
            ("response_type", "code"),
            ("scope", "openid email"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("login_hint", person),
        ];
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", client),
            ("redirect_uri", &back),
            ("code_verifier", VERIFIER),
        ];
        for pairs in [&mut query, &mut form] {
            pairs.extend(resource.as_deref().map(|resource| ("resource", resource)));
        }
        let base = url::Url::parse(&self.url()).map_err(|e| PartError::new(e.to_string()))?;
        let mut page = base.join("/auth").map_err(|e| PartError::new(e.to_string()))?;
        page.query_pairs_mut().extend_pairs(&query);
        let code = loop {
            let answer = browser.get(page.clone()).send().await.map_err(failed)?;
            let next = answer.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned);
            let Some(next) = next else {
                let text = answer.text().await.unwrap_or_default();
                return Err(PartError::new(format!("the identity provider shows a page at {page}: {text}")));
            };
            page = page.join(&next).map_err(|e| PartError::new(e.to_string()))?;
            if page.as_str().starts_with(&back) {
                let code =
                    page.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
                break code.ok_or_else(|| PartError::new(format!("no code: {page}")))?;
            }
        };
        form.push(("code", &code));
        let answer =
            browser.post(format!("{}/token", self.url())).form(&form).send().await.map_err(failed)?;
        let good = answer.status() == reqwest::StatusCode::OK;
        let body: serde_json::Value = answer.json().await.map_err(failed)?;
        if good {
            Ok(body)
        } else {
            Err(PartError::new(format!("no token: {body}\n{}", self.process.output())))
        }
    }
}

/// The directory of a package that is installed with the provider.
///
/// # Errors
/// When it is not installed.
pub fn package(name: &str) -> Result<PathBuf> {
    Ok(modules()?.join("node_modules").join(name))
}

/// Where scripts/identity-provider.sh has installed the provider: below the target directory of this test's build.
fn modules() -> Result<PathBuf> {
    modules_with("oidc-provider")
}

/// Where a package of npm is installed.
pub(super) fn modules_with(package: &str) -> Result<PathBuf> {
    let program =
        std::env::current_exe().map_err(|error| PartError::io("cannot find this program", &error))?;
    let beside = program.ancestors().map(|directory| directory.join("identity-provider"));
    let mut installed =
        beside.filter(|directory| directory.join("node_modules").join(package).join("package.json").exists());
    installed.next().ok_or_else(|| {
        PartError::new("a package of npm for tests is not installed: run `make need-test`, or scripts/identity-provider.sh")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    #[tokio::test]
    async fn it_signs_people_in_and_has_other_keys_after_a_restart() {
        let provider = IdentityProvider::start().await.unwrap();
        let opaque = provider.token("bailiwick", "a~a@x.example~true", None).await.unwrap();
        assert!(!opaque.is_empty() && !opaque.contains('.'));
        let signed = provider.token("bailiwick", "a~a@x.example~true", Some("ES384,list")).await.unwrap();
        let part = |token: &str, at: usize| -> serde_json::Value {
            let text = URL_SAFE_NO_PAD.decode(token.split('.').nth(at).unwrap()).unwrap();
            serde_json::from_slice(&text).unwrap()
        };
        assert_eq!(part(&signed, 0)["alg"], "ES384");
        assert_eq!(part(&signed, 1)["aud"], serde_json::json!(["https://elsewhere.example", AUDIENCE]));
        assert_eq!(part(&signed, 1)["email"], "a@x.example");
        let provider = provider.restart().await.unwrap();
        let again = provider.token("bailiwick", "a~a@x.example~true", Some("ES384")).await.unwrap();
        assert_ne!(part(&signed, 0)["kid"], part(&again, 0)["kid"]);
    }
}
