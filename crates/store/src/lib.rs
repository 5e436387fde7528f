//! bailiwick-store
