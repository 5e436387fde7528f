//! bailiwick-alerting
