//! bailiwick-testkit
