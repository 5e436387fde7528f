//! `bailiwick openapi`

use super::print;
use std::process::ExitCode;

/// Prints the OpenAPI document.
pub fn run() -> ExitCode {
    print(&format!("{:#}\n", bailiwick_api::openapi::document()))
}
