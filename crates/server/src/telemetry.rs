//! Logging to the standard error: for people, or as JSON lines for collectors.

use crate::config::{Log, LogFormat};
use std::{
    io::{self, IsTerminal},
    panic,
};
use tracing_subscriber::EnvFilter;

/// Starts logging for the whole process. Panics are logged too, with their place, instead of being written raw.
/// The error is a text for the operator: logging was started before.
pub fn start(log: &Log) -> Result<(), String> {
    let filter = EnvFilter::builder().parse(log.level.as_str()).map_err(|why| why.to_string())?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    let started = match log.format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).try_init()
        }
    };
    started.map_err(|why| why.to_string())?;
    panic::set_hook(Box::new(|panicked| {
        let place = panicked.location().map(ToString::to_string).unwrap_or_default();
        let text = panicked.payload_as_str().unwrap_or("no text");
        tracing::error!(place, "panic: {text}");
    }));
    Ok(())
}
