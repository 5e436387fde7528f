//! bailiwick-server
