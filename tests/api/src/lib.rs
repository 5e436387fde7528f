//! HTTP tests of Bailiwick; see main.rs.
