//! Names of alerts that filters offer before any has been received (spec: alert-management#figures).

/// An alert that systems are known to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Name.
    pub name: String,
    /// Severity.
    pub severity: String,
    /// Group of its tests.
    pub service: Option<String>,
}

/// The alerts that systems send (spec: alert-management#figures): name, severity, service.
const CATALOGUE: &str = "BackupEncryptionDisabled:warning:backup BackupFailed:critical:backup CertExpired:critical \
    CertExpiringCritical:critical CertExpiringSoon:warning CriticalCpuUsage:warning:host \
    CriticalMemoryUsage:warning:host DiskSpaceCritical:critical:storage DiskSpaceLow:warning:storage \
    DiskSpaceWarning:warning:storage HaPrimaryFailed:critical HaSyncFailed:warning HighCpuUsage:info:host \
    HighMemoryUsage:info:host HighSystemLoad:warning:host LinkFailed:critical LokiOffline:warning:loki \
    NodeOffline:critical RaidDiskFailed:critical:storage RaidDriveMissing:critical:storage ServiceDown:critical \
    StorageStatus:critical:storage SwapFull:warning SwapNotPresent:critical WanDown:critical:network";

impl CatalogueEntry {
    /// From `<name>:<severity>` or `<name>:<severity>:<service>`.
    pub fn parse(text: &str) -> Option<CatalogueEntry> {
        let mut parts = text.split(':').map(str::trim);
        let (name, severity, service) = (parts.next()?, parts.next()?, parts.next());
        let is_whole =
            parts.next().is_none() && !name.is_empty() && !severity.is_empty() && service != Some("");
        is_whole.then(|| CatalogueEntry {
            name: name.to_owned(),
            severity: severity.to_owned(),
            service: service.map(str::to_owned),
        })
    }

    /// The ones that are known without configuration.
    pub fn built_in() -> Vec<CatalogueEntry> {
        CATALOGUE.split_whitespace().filter_map(CatalogueEntry::parse).collect()
    }
}
