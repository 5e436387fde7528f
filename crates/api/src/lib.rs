//! bailiwick-api
