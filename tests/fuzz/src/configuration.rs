//! A configuration of alerts as a client sends it. An accepted one can be published, and the document names exactly the
//! recipients of the configuration (publishing checks this), after the merge with a layer above as well. The body comes
//! first; the layer above, if any, follows a zero byte.

use bailiwick_alertmanager::{
    config::{History, Layer, Posted, Publishing, Smtp, Timing, Upload, merge, shown_yaml},
    receivers::Channels,
    texts::{Language, Pages, Surroundings, Zone},
    webhook_target::AllowedHosts,
};
use std::time::Duration;

fn publishing() -> Publishing {
    let text = str::to_owned;
    Publishing {
        resolve_timeout: Duration::from_secs(6 * 3600),
        timing: Timing::default(),
        smtp: Some(Smtp {
            smarthost: text("mail.example.org:587"),
            from: text("alerts@example.org"),
            username: Some(text("alerts")),
            password: Some(text("p: #'\"\\")),
            requires_tls: true,
        }),
        omitted: Vec::new(),
        history: Some(History {
            url: text("https://portal.example.org/api/alert_history"),
            secret: text("thirty-two characters of a secret"),
        }),
        surroundings: Surroundings {
            pages: Pages::Other(text("https://portal.example.org")),
            zone: Zone::utc(),
        },
    }
}

fn layer(body: &[u8]) -> Option<Layer> {
    let posted = Posted::read(body).ok()?;
    let above = Channels::default();
    let checked = posted.check(None, Some(&above), &AllowedHosts::default(), Language::English).ok()?;
    Some(checked.layer)
}

/// See the top of the file.
pub fn configuration(data: &[u8]) {
    let middle = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let Some(own) = layer(&data[..middle]) else { return };
    let above = layer(data.get(middle + 1..).unwrap_or_default());
    let publishing = publishing();
    let tenant = "01990000-0000-7000-8000-000000000002";
    for effective in [merge(None, Some(&own)), merge(above.as_ref(), Some(&own))] {
        let upload = Upload::new(tenant, &effective, &publishing).expect("what is accepted can be published");
        let again =
            Upload::from_yaml(&upload.to_yaml().expect("written")).expect("what is written can be read");
        assert!(again == upload);
        shown_yaml(tenant, &effective, &publishing).expect("what is accepted can be shown");
    }
}
