//! `bailiwick copy-db`

use super::{CopyDbArgs, compose, fail, print};
use crate::config::{Config, DatabaseUrl, Value};
use bailiwick_app::database::{Db, Options, analyze, copy_to_postgres};
use std::fs;

/// Copies the configured SQLite file, which no process may use meanwhile, into an empty PostgreSQL database.
pub async fn run(config: &Config, args: &CopyDbArgs) -> Result<(), String> {
    let DatabaseUrl::Sqlite(file) = config.database_url() else {
        return Err("the configured database is PostgreSQL already".to_owned());
    };
    if !file.exists() {
        return Err(format!("there is no database at {}", file.display()));
    }
    let url = match (&args.to, &args.to_file) {
        (Some(url), _) => url.clone(),
        (None, Some(file)) => {
            let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
            text.trim().to_owned()
        }
        (None, None) => return Err("where to: --to or --to-file".to_owned()),
    };
    let DatabaseUrl::Postgres(url) = DatabaseUrl::parse(&url).map_err(|why| format!("the target {why}"))?
    else {
        return Err("the target is not an address like postgres://…".to_owned());
    };
    let from = compose::open(config, true).await?;
    let options = Options { connections: 2, exclusive: false, ..Options::new(url.reveal().to_owned()) };
    let to = Db::open(&options).await.map_err(|e| format!("the target cannot be opened: {e}"))?;
    to.migrate().await.map_err(|e| format!("the target cannot be brought to this version: {e}"))?;
    let copied = copy_to_postgres(&from, &to, |table| {
        if table.rows > 0 {
            print(&format!("{:>12} {}\n", table.rows, table.table));
        }
    })
    .await;
    from.close().await;
    let copied = copied.map_err(|e| format!("nothing was copied: {e}"))?;
    if let Err(e) = analyze(&to).await {
        fail(&format!("copied, but ANALYZE failed: {e}"));
    }
    to.close().await;
    let rows: u64 = copied.iter().map(|table| table.rows).sum();
    print(&format!("{rows} rows of {} tables, compared\n", copied.len()));
    print("set database.url to the target; secret and files of the data directory stay as they are\n");
    Ok(())
}
