//! `bailiwick token <email>`

use super::{TokenArgs, note, print};
use bailiwick_app::{App, operator};
use bailiwick_platform::processes::{self, TokensTaken};

/// Prints an access token of the user. Anyone with both the database and the secret can impersonate any user anyway.
/// The standard error names issuer and audience.
pub async fn run(app: &App, args: &TokenArgs) -> Result<(), String> {
    let token = operator::issue_operator_token(app, &args.email).await.map_err(|e| e.to_string())?;
    let tokens = &app.settings.tokens;
    let minutes = tokens.access.as_secs() / 60;
    note(&format!("issuer {}, audience {}, for {minutes} minutes", tokens.issuer, tokens.audience));
    match processes::are_tokens_taken(&app.platform).await.map_err(|e| e.to_string())? {
        TokensTaken::ByAll => {}
        TokensTaken::NobodyServes => note("no process serves this database at the moment"),
        TokensTaken::Not(names) => {
            let names = names.iter().map(|(issuer, audience, url)| {
                format!("issuer {issuer}, audience {audience} (http.public_url {url})")
            });
            note(&format!(
                "warning: the service refuses this token, as it has {}: run the command with the service's configuration",
                names.collect::<Vec<_>>().join("; ")
            ));
        }
    }
    print(&format!("{token}\n"));
    Ok(())
}
