//! The alerts of made-up systems: those that the appliances really send, with their labels and texts.

use serde_json::{Map, Value, json};

/// The systems that have an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    /// All.
    Any,
    Clusters,
    Firewalls,
}

/// One kind of alert. `{}` in its texts stands for the value of its label.
#[derive(Debug)]
pub(super) struct AlertTemplate {
    /// `alertname`.
    pub name: &'static str,
    severity: &'static str,
    service: &'static str,
    on: On,
    label: &'static str,
    values: &'static [&'static str],
    summary: [&'static str; 2],
    description: [&'static str; 2],
}

macro_rules! kinds {
    ($($name:ident $severity:ident $service:literal $on:ident, $label:literal in [$($value:literal),+];
       $en:literal, $it:literal; $more_en:literal, $more_it:literal)+) => {
        &[$(AlertTemplate {
            name: stringify!($name), severity: stringify!($severity), service: $service, on: On::$on,
            label: $label, values: &[$($value),+], summary: [$en, $it], description: [$more_en, $more_it],
        }),+]
    };
}

const KINDS: &[AlertTemplate] = kinds! {
    DiskSpaceLow warning "storage" Any, "mountpoint" in ["/", "/var/log", "/mnt/backup"];
        "Little space is left on {}", "Poco spazio libero su {}";
        "{} is more than 85 % full. At the present rate it is full within a week.",
        "{} è pieno oltre l'85 %. Al ritmo attuale sarà pieno entro una settimana."
    DiskSpaceCritical critical "storage" Any, "mountpoint" in ["/", "/var/lib/containers", "/mnt/data"];
        "Almost no space is left on {}", "Spazio quasi esaurito su {}";
        "{} is more than 95 % full. Services stop when nothing is left.",
        "{} è pieno oltre il 95 %. I servizi si fermano quando lo spazio finisce."
    BackupFailed critical "backup" Clusters, "backup_name" in ["Nightly to S3", "NAS office", "Weekly full"];
        "The backup \"{}\" has failed", "Il backup \"{}\" non è riuscito";
        "The last run of \"{}\" ended with an error: the destination refused the connection.",
        "L'ultima esecuzione di \"{}\" è terminata con un errore: la destinazione ha rifiutato la connessione."
    BackupEncryptionDisabled warning "backup" Firewalls, "backup_name" in ["configuration"];
        "The backup of the {} is not encrypted", "Il backup della {} non è cifrato";
        "No passphrase is set: whoever can read the backup can read its secrets.",
        "Nessuna passphrase impostata: chi legge il backup ne legge i segreti."
    CertExpiringSoon warning "certificates" Any, "cn" in ["mail", "cloud", "vpn", "webtop"];
        "The certificate of {} expires within 28 days", "Il certificato di {} scade entro 28 giorni";
        "It was not renewed automatically: the name does not lead to this system any more.",
        "Il rinnovo automatico non è avvenuto: il nome non porta più a questo sistema."
    CertExpired critical "certificates" Any, "cn" in ["mail", "cloud", "vpn"];
        "The certificate of {} has expired", "Il certificato di {} è scaduto";
        "Browsers and mail programs refuse the connection.",
        "I browser e i programmi di posta rifiutano la connessione."
    ServiceDown critical "services" Clusters, "module_id" in ["mail1", "nethvoice1", "nextcloud1", "webtop1"];
        "{} does not run", "{} non è in esecuzione";
        "{} has been restarted three times and ended each time.",
        "{} è stato riavviato tre volte e si è fermato ogni volta."
    LokiOffline warning "loki" Clusters, "module_id" in ["loki1"];
        "The log store {} does not answer", "L'archivio dei log {} non risponde";
        "New log lines are lost until it runs again.",
        "Le nuove righe di log vanno perse finché non riparte."
    HighSystemLoad warning "host" Any, "node" in ["1"];
        "The load of node {} is high", "Il carico del nodo {} è alto";
        "For 15 minutes more processes have waited for a core than there are cores.",
        "Da 15 minuti i processi in attesa superano i core disponibili."
    HighCpuUsage info "host" Any, "node" in ["1"];
        "The processors of node {} are busy", "I processori del nodo {} sono occupati";
        "They have been more than 80 % busy for 15 minutes.",
        "Sono occupati oltre l'80 % da 15 minuti."
    HighMemoryUsage info "host" Any, "node" in ["1"];
        "The memory of node {} is nearly used up", "La memoria del nodo {} è quasi esaurita";
        "More than 85 % of the memory is in use.",
        "È in uso oltre l'85 % della memoria."
    CriticalMemoryUsage warning "host" Any, "node" in ["1"];
        "The memory of node {} is used up", "La memoria del nodo {} è esaurita";
        "More than 95 % of the memory is in use; programs may be ended.",
        "È in uso oltre il 95 % della memoria; i programmi possono essere terminati."
    SwapFull warning "host" Clusters, "node" in ["1"];
        "The swap space of node {} is full", "Lo spazio di swap del nodo {} è pieno";
        "The node has become slow and may end programs.",
        "Il nodo è diventato lento e può terminare dei programmi."
    RaidDiskFailed critical "storage" Any, "device" in ["sda", "sdb"];
        "The disk {} of the RAID has failed", "Il disco {} del RAID è guasto";
        "The array runs without redundancy until {} is replaced.",
        "L'array lavora senza ridondanza finché {} non viene sostituito."
    WanDown critical "network" Firewalls, "interface" in ["wan1", "wan2", "fiber", "lte"];
        "The connection {} is down", "La connessione {} è interrotta";
        "None of its monitored addresses has answered for two minutes; traffic takes the other connections.",
        "Nessuno degli indirizzi controllati risponde da due minuti; il traffico usa le altre connessioni."
    HaSyncFailed warning "network" Firewalls, "peer" in ["backup"];
        "The firewall \"{}\" does not take over the configuration",
        "Il firewall \"{}\" non riceve la configurazione";
        "After a failure of this one it would work with old rules.",
        "In caso di guasto di questo lavorerebbe con regole vecchie."
    StorageStatus critical "storage" Firewalls, "device" in ["/dev/sda3"];
        "The data disk {} cannot be written", "Il disco dati {} non è scrivibile";
        "It has been mounted read-only after an error.",
        "È stato montato in sola lettura dopo un errore."
};

/// One of the kinds that a system of this type has.
pub(super) fn choose(system_type: Option<&str>, choice: u64) -> &'static AlertTemplate {
    let own = match system_type {
        Some("ns8") => On::Clusters,
        Some("nsec") => On::Firewalls,
        _ => On::Any,
    };
    let fit: Vec<&'static AlertTemplate> =
        KINDS.iter().filter(|kind| kind.on == On::Any || kind.on == own).collect();
    fit[usize::try_from(choice % fit.len() as u64).unwrap_or(0)]
}

impl AlertTemplate {
    fn value(&self, variant: u64) -> &'static str {
        self.values[usize::try_from(variant % self.values.len() as u64).unwrap_or(0)]
    }

    pub(super) fn labels(&self, variant: u64) -> Map<String, Value> {
        let labels = json!({
            "alertname": self.name, "severity": self.severity, "service": self.service,
            self.label: self.value(variant),
        });
        labels.as_object().cloned().unwrap_or_default()
    }

    /// Its texts in English and Italian.
    pub(super) fn annotations(&self, variant: u64) -> Value {
        let fill = |text: &str| text.replace("{}", self.value(variant));
        let [summary, summary_it] = self.summary.map(fill);
        let [description, description_it] = self.description.map(fill);
        json!({
            "summary": summary, "summary_en": summary, "summary_it": summary_it,
            "description": description, "description_en": description, "description_it": description_it,
        })
    }
}

/// A person's reason for a silence, and who they are.
pub(super) fn reason(variant: u64) -> (&'static str, &'static str) {
    const REASONS: [(&str, &str); 4] = [
        ("The spare part is ordered, it comes on Thursday", "Chiara Marchetti"),
        ("Known, the customer moves to the new server next week", "Paolo Ferri"),
        ("Maintenance agreed with the customer", "Anke Schäfer"),
        ("Ticket 4711: waiting for the provider", "Luca Galli"),
    ];
    REASONS[usize::try_from(variant % REASONS.len() as u64).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_settings::CatalogueEntry;

    #[test]
    fn the_kinds_are_those_that_appliances_send() {
        let catalogue = CatalogueEntry::built_in();
        for kind in KINDS {
            let entry = catalogue.iter().find(|entry| entry.name == kind.name);
            assert_eq!(entry.map(|e| e.severity.as_str()), Some(kind.severity), "{}", kind.name);
        }
    }

    #[test]
    fn each_type_has_its_own_and_texts_name_the_label() {
        for choice in 0..100 {
            assert_ne!(choose(Some("ns8"), choice).on, On::Firewalls);
            assert_ne!(choose(Some("nsec"), choice).on, On::Clusters);
            assert_eq!(choose(None, choice).on, On::Any);
        }
        let disk = KINDS.iter().find(|kind| kind.name == "DiskSpaceLow").unwrap();
        assert_eq!(disk.labels(1)["mountpoint"], "/var/log");
        assert_eq!(disk.annotations(1)["summary_it"], "Poco spazio libero su /var/log");
    }
}
