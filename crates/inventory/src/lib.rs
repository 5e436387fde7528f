//! bailiwick-inventory
