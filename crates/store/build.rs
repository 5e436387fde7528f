//! Compiles the crate again when a migration is added: the macro that reads them does not say so by itself.

#![allow(clippy::print_stdout, reason = "this is how cargo is spoken to")]

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
