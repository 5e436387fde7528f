//! The documents of an issuer: its description, and its answers about a token and a person.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

/// The fields of an issuer's description that are used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// Its name, exactly as tokens must state it.
    pub issuer: String,
    /// Where people sign in.
    pub authorization_endpoint: Option<String>,
    /// Where codes become tokens.
    pub token_endpoint: Option<String>,
    /// Where people sign out.
    pub end_session_endpoint: Option<String>,
    /// The token endpoint takes the secret in the form only.
    pub code_secret_in_form: bool,
    /// Its keys.
    pub jwks_uri: String,
    /// The endpoint that describes a token.
    pub introspection_endpoint: Option<String>,
    /// The endpoint that describes the user of a token.
    pub userinfo_endpoint: Option<String>,
    /// The introspection endpoint accepts the secret in the form only.
    pub secret_in_form: bool,
}

/// The discovery document as the issuer writes it.
#[derive(Deserialize)]
pub(super) struct WrittenDiscovery {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    jwks_uri: String,
    introspection_endpoint: Option<String>,
    userinfo_endpoint: Option<String>,
    introspection_endpoint_auth_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

impl WrittenDiscovery {
    /// Checks the description that the issuer at `url` has sent; the error names the problem.
    pub(super) fn check(self, url: &str) -> Result<Discovery, &'static str> {
        if self.issuer.trim_end_matches('/') != url {
            return Err("it calls itself otherwise than the configured issuer");
        }
        // Tokens and a secret are sent to these endpoints, so they must be protected as well as the issuer itself.
        let secure = url.starts_with("https:");
        let usable = |address: &str| {
            Url::parse(address).is_ok_and(|url| {
                let scheme = url.scheme();
                (scheme == "https" || (scheme == "http" && !secure))
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.fragment().is_none()
            })
        };
        let endpoints = [
            &self.authorization_endpoint,
            &self.token_endpoint,
            &self.end_session_endpoint,
            &self.introspection_endpoint,
            &self.userinfo_endpoint,
        ];
        let named = endpoints.into_iter().flatten().chain([&self.jwks_uri]);
        if !named.into_iter().all(|address| usable(address)) {
            return Err("an endpoint cannot be used");
        }
        // RFC 8414: without a list for this endpoint, that of the token endpoint applies best.
        let of_codes = self.token_endpoint_auth_methods_supported;
        let code_secret_in_form = takes_form_only(of_codes.as_ref());
        let methods = self.introspection_endpoint_auth_methods_supported.or(of_codes);
        Ok(Discovery {
            secret_in_form: takes_form_only(methods.as_ref()),
            code_secret_in_form,
            token_endpoint: self.token_endpoint,
            end_session_endpoint: self.end_session_endpoint,
            issuer: self.issuer,
            authorization_endpoint: self.authorization_endpoint,
            jwks_uri: self.jwks_uri,
            introspection_endpoint: self.introspection_endpoint,
            userinfo_endpoint: self.userinfo_endpoint,
        })
    }
}

/// Whether an endpoint with these methods takes a secret in the form only.
fn takes_form_only(methods: Option<&Vec<String>>) -> bool {
    let offers = |method: &str| methods.into_iter().flatten().any(|offered| offered == method);
    offers("client_secret_post") && !offers("client_secret_basic")
}

/// What the token endpoint answers to a code.
#[derive(Deserialize)]
pub struct Redeemed {
    /// For userinfo.
    pub access_token: String,
    /// Who has signed in.
    pub id_token: Option<String>,
}

/// The answer to an introspection (RFC 7662 §2.2).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Introspected {
    /// Whether it is good.
    pub active: bool,
    /// The subject.
    pub sub: Option<String>,
    /// Issued to.
    pub client_id: Option<String>,
    /// The client the token was issued to, as some issuers name it.
    pub azp: Option<String>,
    /// The client the token was issued to, as Okta names it.
    pub cid: Option<String>,
    /// Issued by.
    pub iss: Option<String>,
    /// Meant for; a text or a list.
    pub aud: Option<Value>,
    /// End of its life, seconds.
    pub exp: Option<f64>,
    /// Begin of its life, seconds.
    pub nbf: Option<f64>,
    /// `Bearer`, `DPoP` …
    pub token_type: Option<Value>,
    /// The kind of token, as some issuers call it: `access_token`, `refresh_token` …
    pub token_use: Option<Value>,
    /// The kind of token, as other issuers name it.
    pub typ: Option<Value>,
    /// Bound to a key of the client's.
    pub cnf: Option<Value>,
    /// E-mail of the person.
    pub email: Option<String>,
    /// Whether the address is verified.
    pub email_verified: Option<Value>,
}

/// The issuer's description of a person.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Userinfo {
    /// The subject.
    pub sub: String,
    pub email: Option<String>,
    /// Whether the address is verified.
    pub email_verified: Option<Value>,
}

/// `true`, or the text `"true"` that some issuers write.
pub(super) fn flag(claim: Option<&Value>) -> bool {
    match claim {
        Some(Value::Bool(yes)) => *yes,
        Some(Value::String(text)) => text == "true",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(url: &str, change: impl FnOnce(&mut Value)) -> Result<Discovery, &'static str> {
        let mut written = json!({
            "issuer": url,
            "jwks_uri": format!("{url}/jwks"),
            "introspection_endpoint": format!("{url}/introspect"),
        });
        change(&mut written);
        serde_json::from_value::<WrittenDiscovery>(written).unwrap().check(url)
    }

    #[test]
    fn an_issuer_must_call_itself_as_it_is_configured() {
        let slash = check("https://a.example", |w| w["issuer"] = json!("https://a.example/")).unwrap();
        assert_eq!(slash.issuer, "https://a.example/");
        for other in ["https://b.example", "https://a.example/x", "http://a.example", "https://A.example"] {
            assert!(check("https://a.example", |w| w["issuer"] = json!(other)).is_err(), "{other}");
        }
    }

    #[test]
    fn endpoints_are_never_less_protected_than_the_issuer() {
        for (url, endpoint, fits) in [
            ("https://a.example", "http://a.example/jwks", false),
            ("http://a.example", "http://a.example/jwks", true),
            ("http://a.example", "https://b.example/jwks", true),
            ("https://a.example", "file:///etc/passwd", false),
            ("https://a.example", "https://u:p@a.example/", false),
            ("https://a.example", "relative", false),
        ] {
            for name in ["jwks_uri", "introspection_endpoint", "userinfo_endpoint"] {
                let checked = check(url, |w| w[name] = json!(endpoint));
                assert_eq!(checked.is_ok(), fits, "{url} {name} {endpoint}");
            }
        }
    }

    #[test]
    fn the_secret_goes_into_the_form_only_where_nothing_else_is_taken() {
        let both = json!(["client_secret_basic", "client_secret_post"]);
        for (methods, in_form) in [
            (json!(["client_secret_post"]), true),
            (both, false),
            (json!(["client_secret_basic"]), false),
            (json!([]), false),
        ] {
            let checked =
                check("https://a.example", |w| w["token_endpoint_auth_methods_supported"] = methods);
            assert_eq!(checked.unwrap().secret_in_form, in_form);
        }
        assert!(!check("https://a.example", |_| {}).unwrap().secret_in_form);
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        for (claim, yes) in [
            (json!(true), true),
            (json!("true"), true),
            (json!(false), false),
            (json!("True"), false),
            (json!(1), false),
            (json!(null), false),
        ] {
            assert_eq!(flag(Some(&claim)), yes, "{claim}");
        }
        assert!(!flag(None));
    }
}
