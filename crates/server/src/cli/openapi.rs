//! `bailiwick openapi`

use super::print;
use bailiwick_api::openapi;
use clap::{Args, ValueEnum};
use std::process::ExitCode;

/// Versions of OpenAPI that the document can be had in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Version {
    /// 3.0, for generators of clients that read no newer one.
    #[value(name = "3.0")]
    V3_0,
    /// 3.1, as it is served.
    #[value(name = "3.1")]
    V3_1,
}

/// Arguments of `openapi`.
#[derive(Args, Debug)]
pub struct OpenapiArgs {
    /// Version of OpenAPI
    #[arg(long, value_enum, default_value = "3.1")]
    pub openapi: Version,
}

/// Prints the OpenAPI document.
pub fn run(args: &OpenapiArgs) -> ExitCode {
    let document = openapi::document();
    let document = match args.openapi {
        Version::V3_0 => openapi::as_3_0(document),
        Version::V3_1 => document,
    };
    print(&format!("{document:#}\n"))
}
