//! `bailiwick user …`

use super::{
    CreateOwnerArgs, ResetSecondFactorArgs, SetPasswordArgs, UnlinkArgs, first_start, messages, note, print,
};
use crate::config::LogFormat;
use bailiwick_app::{App, operator};
use bailiwick_domain::validate;
use bailiwick_identity::{factors, relying_party};
use bailiwick_platform::{Secret, audit};
use console::Term;
use std::{
    fs,
    io::{self, IsTerminal},
};

/// Adds a Super Admin to the owner organization; a generated password is printed once.
pub async fn run(app: &App, args: CreateOwnerArgs) -> Result<(), String> {
    let first = operator::ensure_owner(app).await.map_err(|e| messages::of(&e, str::to_owned))?;
    first_start::print_without_address(app, first, LogFormat::Text);
    let has_password = app.settings.identity.makes_accounts();
    if args.password_file.is_some() && !has_password {
        return Err("--password-file is of no use: people sign in at the identity provider".to_owned());
    }
    let (password, generated) = match &args.password_file {
        None if !has_password => (None, false),
        None => (Some(validate::generate_password(&*app.platform.entropy)), true),
        Some(path) => {
            let text =
                fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
            (Some(text.trim_end_matches(['\r', '\n']).to_owned()), false)
        }
    };
    let owner = operator::NewOwnerUser {
        email: args.email.clone(),
        username: args.username,
        name: args.name,
        password: password.clone().map(Secret::new),
    };
    let id = operator::create_owner_user(app, &owner).await;
    let id = id.map_err(|e| messages::of(&e, str::to_owned))?;
    let mut text = format!("created {} ({id})\n", args.email);
    if let Some(password) = password.filter(|_| generated) {
        text.push_str(&format!("password (shown only now): {password}\n"));
    }
    print(&text);
    Ok(())
}

/// Removes everything that the user has beside their password.
pub async fn reset_second_factor(app: &App, args: &ResetSecondFactorArgs) -> Result<(), String> {
    let user = audit::actor(&app.platform, &args.user).await.map_err(|e| e.to_string())?;
    factors::reset::reset_by_operator(&app.identity, user).await.map_err(|e| e.to_string())?;
    print(&format!("{} signs in with the password alone until they add a second factor\n", args.user));
    Ok(())
}

/// Sets a user's password.
pub async fn set_password(app: &App, args: &SetPasswordArgs) -> Result<(), String> {
    let user = audit::actor(&app.platform, &args.user).await.map_err(|e| e.to_string())?;
    let password =
        if args.generate { validate::generate_password(&*app.platform.entropy) } else { read_password()? };
    operator::set_password(app, user, &password).await.map_err(|e| messages::of(&e, str::to_owned))?;
    let mut text = format!("the password of {} is set, and their sessions have ended\n", args.user);
    if args.generate {
        text.push_str(&format!("password (shown only now): {password}\n"));
    }
    print(&text);
    Ok(())
}

/// Typed twice at a terminal, which does not show it; otherwise the first line of the standard input.
fn read_password() -> Result<String, String> {
    let failed = |e| format!("the password cannot be read: {e}");
    let terminal = Term::stderr();
    if !io::stdin().is_terminal() || !terminal.is_term() {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map_err(failed)?;
        return Ok(line.trim_end_matches(['\r', '\n']).to_owned());
    }
    let typed = |what: &str| {
        note(what);
        terminal.read_secure_line().map_err(failed)
    };
    let password = typed("the new password:")?;
    match typed("the same again:")? == password {
        true => Ok(password),
        false => Err("the two differ, nothing was changed".to_owned()),
    }
}

/// Forgets the user's link to the identity provider.
pub async fn unlink(app: &App, args: &UnlinkArgs) -> Result<(), String> {
    let was_linked = relying_party::unlink(&app.identity, &args.email).await.map_err(|e| e.to_string())?;
    let what = if was_linked { "has no account at the identity provider any more" } else { "had none" };
    print(&format!("{} {what}\n", args.email));
    Ok(())
}
