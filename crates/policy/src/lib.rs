//! bailiwick-policy
