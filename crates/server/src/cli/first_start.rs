//! The message of the first start of an installation, the same for all commands.

use super::print;
use bailiwick_app::{App, bootstrap::FirstStart};

/// Prints where to sign in, and the credentials, once the service answers. A generated password is shown only here.
pub fn greet(app: &App, first: FirstStart) {
    let FirstStart::Created { email, generated_password } = first else { return };
    if let Some(issuer) = app.settings.identity.issuer() {
        print(&format!(
            "\nBailiwick is ready.\n\n  sign in at  {}\n  as          whoever has the verified e-mail address {email} at {}\n\n",
            signs_in_at(app),
            issuer.url,
        ));
        return;
    }
    let password = shown(generated_password);
    print(&format!(
        "\nBailiwick is ready.\n\n  sign in at  {url}{page}\n  e-mail      {email}\n  password    {password}\n\n",
        url = app.settings.public_url,
        page = if app.settings.console.enabled { "/console/" } else { "/oidc/login" },
    ));
}

/// Where people sign in when they do so at an issuer: the console, if it can be used there.
fn signs_in_at(app: &App) -> String {
    match bailiwick_identity::console::is_available(app) && app.settings.console.enabled {
        true => format!("{}/console/", app.settings.public_url),
        false => app.settings.app_url().to_owned(),
    }
}

/// Prints them after a command that has created them; no service answers yet.
pub fn tell(app: &App, first: FirstStart) {
    let FirstStart::Created { email, generated_password } = first else { return };
    let who = if app.settings.identity.issuer().is_some() {
        format!("  signs in as whoever has the verified e-mail address {email} at the identity provider")
    } else {
        format!("  e-mail      {email}\n  password    {}", shown(generated_password))
    };
    print(&format!(
        "\nThe owner organization and its first user are made; `bailiwick serve` starts the service.\n\n{who}\n\n"
    ));
}

fn shown(generated: Option<bailiwick_platform::Secret<String>>) -> String {
    generated.map_or_else(
        || "the one you have configured".to_owned(),
        |password| format!("{}   (shown only now; change it, as a log keeps it)", password.reveal()),
    )
}
