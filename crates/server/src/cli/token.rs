//! `bailiwick token <email>`

use super::{TokenArgs, print};
use bailiwick_app::{App, bootstrap};

/// Prints an access token of the user; whoever can read the database and the secret may act as anybody anyway.
pub async fn run(app: &App, args: &TokenArgs) -> Result<(), String> {
    let token = bootstrap::issue_operator_token(app, &args.email).await.map_err(|e| e.to_string())?;
    print(&format!("{token}\n"));
    Ok(())
}
