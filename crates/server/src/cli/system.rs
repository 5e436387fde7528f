//! `bailiwick system …`

use super::{SystemCommand, print};
use bailiwick_app::App;
use bailiwick_domain::Error;
use bailiwick_identity::credentials;
use std::fs;

/// Takes over credentials of an earlier installation, or drops older pairs.
pub async fn run(app: &App, command: SystemCommand) -> Result<(), String> {
    match command {
        SystemCommand::ImportCredentials(args) => {
            let path = args.file.display();
            let file = fs::read(&args.file).map_err(|e| format!("cannot read {path}: {e}"))?;
            let done = credentials::import(&app.identity, &file).await.map_err(refused)?;
            let credentials::Imports { pairs, keys } = done;
            print(&format!("{pairs} older pair(s) and {keys} key(s) taken over\n"));
        }
        SystemCommand::ForgetLegacy(args) => {
            let gone =
                credentials::forget_legacy(&app.identity, args.system).await.map_err(|e| e.to_string())?;
            print(&format!("{gone} older pair(s) forgotten\n"));
        }
    }
    Ok(())
}

/// Every line that cannot be taken.
fn refused(error: Error) -> String {
    match error {
        Error::Invalid(fields) => {
            let lines: Vec<String> = fields.iter().map(|f| format!("  {} {}", f.key, f.message)).collect();
            format!("nothing was taken over:\n{}", lines.join("\n"))
        }
        Error::BadRequest { message, .. } => message.into_owned(),
        other => other.to_string(),
    }
}
