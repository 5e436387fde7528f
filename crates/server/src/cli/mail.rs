//! `bailiwick mail …`

use super::print;
use bailiwick_app::App;
use bailiwick_events::mail;
use clap::{Args, Subcommand};

/// `bailiwick mail …`
#[derive(Debug, Subcommand)]
pub enum MailCommand {
    /// Send one mail by the configured server now, and print what the server says to it
    Test(MailTestArgs),
}

/// `bailiwick mail test`
#[derive(Debug, Args)]
pub struct MailTestArgs {
    /// Address that gets the mail
    pub address: String,
}

/// Sends a mail past the queue.
pub async fn run(app: &App, command: MailCommand) -> Result<(), String> {
    let MailCommand::Test(MailTestArgs { address }) = command;
    let reply = mail::send_test(&app.events, &address).await?;
    print(&format!("{address}: taken by {reply}\n"));
    Ok(())
}
