//! Makes cargo rebuild the crate when a migration is added: the macro that embeds the migrations does not do so.

#![allow(clippy::print_stdout, reason = "this is how cargo is spoken to")]

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
