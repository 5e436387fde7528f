//! Bailiwick for tests: real parts, seeds and clients.
//!
//! Real programs that tests run against are in [`parts`].

pub mod parts;
