//! bailiwick-outbound
