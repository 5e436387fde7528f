//! `bailiwick assets …`

use super::{AssetsCommand, AssetsMoveArgs, print};
use bailiwick_app::App;
use bailiwick_directory::{images, objects};
use bailiwick_settings::ImageHome;

/// Moves images to the configured place, or counts those that are elsewhere.
pub async fn run(app: &App, command: AssetsCommand) -> Result<(), String> {
    let AssetsCommand::Move(AssetsMoveArgs { dry_run }) = command;
    let to = match app.settings.assets.images {
        ImageHome::Database => "the database",
        ImageHome::Bucket => "the bucket",
    };
    let left = images::left_to_move(&app.directory).await.map_err(|e| e.to_string())?;
    if dry_run {
        print(&format!("{left} images would be moved to {to}\n"));
        return Ok(());
    }
    let mut done = 0;
    let progress = |moved: u64| {
        done = moved;
        let _ = print(&format!("{moved} of {left}\n"));
    };
    let moved = images::move_all(&app.directory, progress).await;
    let moved = moved.map_err(|e| format!("{done} images were moved, then: {e}; run it again to go on"))?;
    // A running service does this too; objects that cannot be deleted now are deleted later.
    if let Err(e) = objects::run_until_idle(&app.directory).await {
        print(&format!("objects that are of no use any more are deleted later: {e}\n"));
    }
    print(&format!("{} images, {} bytes moved to {to}\n", moved.images, moved.bytes));
    if moved.unreadable.is_empty() {
        return Ok(());
    }
    let list = moved.unreadable.join("\n  ");
    Err(format!("these are not what they were where they are, and stay there:\n  {list}"))
}
