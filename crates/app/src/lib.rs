//! bailiwick-app
