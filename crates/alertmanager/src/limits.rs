//! Limits of one request, alert, silence or query (spec: alerts#query-parameters, alerts#limits).

use std::time::Duration;

/// The limits that can be checked without storage. The default is the specification's.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Alerts in one request.
    pub alerts_per_request: usize,
    /// Labels of one alert that the client sends.
    pub labels: usize,
    /// Bytes of a label or annotation name.
    pub name_bytes: usize,
    /// Bytes of a label value.
    pub label_value_bytes: usize,
    /// Annotations of one alert that the client sends.
    pub annotations: usize,
    /// Bytes of an annotation value, placeholders replaced.
    pub annotation_value_bytes: usize,
    /// Bytes of all names, values and the generator address of one alert.
    pub alert_bytes: usize,
    /// Bytes of all texts of one silence.
    pub silence_bytes: usize,
    /// Longest time between now and the end of a silence.
    pub silence_length: Duration,
    /// Matchers of one silence.
    pub matchers: usize,
    /// Filters in one query, and bytes of each.
    pub filters: usize,
    /// Bytes of one filter, or of one regular expression.
    pub expression_bytes: usize,
    /// Bytes that the regular expressions of one silence, or of one query, may take when compiled.
    pub compiled_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            alerts_per_request: 2000,
            labels: 64,
            name_bytes: 128,
            label_value_bytes: 4096,
            annotations: 64,
            annotation_value_bytes: 16 * 1024,
            alert_bytes: 64 * 1024,
            silence_bytes: 16 * 1024,
            silence_length: Duration::from_secs(366 * 86_400),
            matchers: 32,
            filters: 32,
            expression_bytes: 1024,
            compiled_bytes: 256 * 1024,
        }
    }
}
