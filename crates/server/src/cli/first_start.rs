//! The message of the first start of an installation, the same for all commands.

use super::print;
use crate::{config::LogFormat, telemetry};
use bailiwick_app::{App, operator::FirstStart};
use serde_json::json;

/// Prints where to sign in, and the credentials, once the service answers.
pub fn greet(app: &App, first: FirstStart, format: LogFormat) {
    print_first_user(app, first, format, Some(address_of_sign_in(app)));
}

/// Prints the credentials after a command that has created them; no service answers yet.
pub fn print_without_address(app: &App, first: FirstStart, format: LogFormat) {
    print_first_user(app, first, format, None);
}

/// Where people sign in.
fn address_of_sign_in(app: &App) -> String {
    let settings = &app.settings;
    let has_console = settings.console.enabled;
    match settings.identity.issuer() {
        None if !has_console => format!("{}/oidc/login", settings.public_url),
        Some(_) if !has_console || !bailiwick_identity::console::is_available(&app.identity) => {
            settings.app_url().to_owned()
        }
        _ => format!("{}/console/", settings.public_url),
    }
}

/// Prints the first user on the standard output, at every level of the log: a generated password is shown only here.
/// Where the log is JSON, the message is a line like those of the log, because collectors read both streams.
fn print_first_user(app: &App, first: FirstStart, format: LogFormat, sign_in_at: Option<String>) {
    let FirstStart::Created { email, generated_password } = first else { return };
    let message = match sign_in_at {
        Some(_) => "Bailiwick is ready",
        None => "The owner organization and its first user are made; `bailiwick serve` starts the service",
    };
    let issuer = app.settings.identity.issuer().map(|issuer| issuer.url.as_str());
    let password = generated_password.as_ref().map(|password| password.reveal().as_str());
    if format == LogFormat::Json {
        let fields =
            json!({"sign_in_at": sign_in_at, "email": email, "issuer": issuer, "password": password});
        print(&telemetry::json_line(tracing::Level::INFO, message, fields));
        return;
    }
    let sign_in = sign_in_at.map(|address| format!("  sign in at  {address}\n")).unwrap_or_default();
    let verified = issuer.map(|issuer| format!("  verified    at {issuer}\n")).unwrap_or_default();
    let password = match password {
        Some(password) => {
            format!("  password    {password}   (shown only now; change it, as a log keeps it)\n")
        }
        None if issuer.is_some() => String::new(),
        None => "  password    the one you have configured\n".to_owned(),
    };
    print(&format!("\n{message}.\n\n{sign_in}  e-mail      {email}\n{verified}{password}\n"));
}
