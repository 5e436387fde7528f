//! What the first start of an installation tells, whichever command it is.

use super::print;
use bailiwick_app::{App, bootstrap};

/// Where to sign in and with what; a generated password is shown this once.
pub fn greet(app: &App, first: bootstrap::FirstStart) {
    let bootstrap::FirstStart::Created { email, generated_password } = first else { return };
    if let Some(issuer) = app.settings.identity.issuer() {
        print(&format!(
            "\nBailiwick is ready.\n\n  sign in at  {}\n  as          whoever has the verified e-mail address {email} at {}\n\n",
            app.settings.app_url, issuer.url,
        ));
        return;
    }
    let password = generated_password.map_or_else(
        || "the one you have configured".to_owned(),
        |password| format!("{}   (shown only now; keep it)", password.reveal()),
    );
    print(&format!(
        "\nBailiwick is ready.\n\n  sign in at  {url}/oidc/login\n  e-mail      {email}\n  password    {password}\n\n",
        url = app.settings.public_url,
    ));
}
