//! `bailiwick inventory …`

use super::{InventoryCommand, print};
use bailiwick_app::App;
use bailiwick_fleet::inventory;

/// Lists quarantined documents, or puts them back into the queue.
pub async fn run(app: &App, command: InventoryCommand) -> Result<(), String> {
    match command {
        InventoryCommand::Quarantine => list(app).await,
        InventoryCommand::Replay(args) => {
            let count = inventory::replay(&app.fleet, args.entry).await.map_err(|e| e.to_string())?;
            match (count, args.entry) {
                (0, Some(entry)) => return Err(format!("entry {entry} is not in the quarantine")),
                (count, _) => print(&format!("{count} document(s) are in the queue again\n")),
            };
            Ok(())
        }
    }
}

/// One line for each, parted by tabs.
async fn list(app: &App) -> Result<(), String> {
    let mut after = 0;
    loop {
        let found = inventory::quarantined(&app.fleet, after).await.map_err(|e| e.to_string())?;
        let Some(last) = found.last() else { return Ok(()) };
        after = last.id;
        for entry in &found {
            // Control characters are replaced, because a terminal would obey them: a document can put them into an
            // error.
            let error: String = entry.error.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let (id, key, bytes) = (entry.id, &entry.system_key, entry.data_size);
            let (received, aside) = (entry.received_at, entry.quarantined_at);
            print(&format!("{id}\t{key}\treceived {received}\tput aside {aside}\t{bytes} bytes\t{error}\n"));
        }
    }
}
