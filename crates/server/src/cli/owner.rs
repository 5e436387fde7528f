//! `bailiwick user create-owner`

use super::{CreateOwnerArgs, print};
use bailiwick_app::{App, bootstrap, settings::Secret};
use bailiwick_domain::validate;
use std::fs;

/// Adds a Super Admin to the owner organization; a generated password is printed once.
pub async fn run(app: &App, args: CreateOwnerArgs) -> Result<(), String> {
    bootstrap::ensure_owner(app).await.map_err(|e| e.to_string())?;
    let (password, generated) = match &args.password_file {
        None => (validate::generate_password(&*app.entropy), true),
        Some(path) => {
            let text =
                fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            (text.trim_end_matches(['\r', '\n']).to_owned(), false)
        }
    };
    let owner = bootstrap::NewOwnerUser {
        email: args.email.clone(),
        username: args.username,
        name: args.name,
        password: Secret::new(password.clone()),
    };
    let id = bootstrap::create_owner_user(app, &owner).await.map_err(|e| e.to_string())?;
    let mut text = format!("created {} ({id})\n", args.email);
    if generated {
        text.push_str(&format!("password (shown only now): {password}\n"));
    }
    print(&text);
    Ok(())
}
