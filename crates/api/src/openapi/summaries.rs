//! A one-line summary of each operation.

/// The summary of an operation; empty for one without a summary, which fails a test.
pub(super) fn summary(operation: &str) -> String {
    let (operation, is_older) = match operation.find("Alias") {
        Some(at) => (operation.get(..at).unwrap_or(operation), true),
        None => (operation, false),
    };
    let mut line = match of_family(operation) {
        Some(line) => line,
        None => line(operation).to_owned(),
    };
    if is_older {
        line.push_str(" (older path)");
    }
    line
}

/// The summary of operations that distributors, resellers, customers and users, or several of them, share.
fn of_family(operation: &str) -> Option<String> {
    let families = ["distributor", "reseller", "customer", "user", "system", "application"];
    families.into_iter().find_map(|one| {
        let mut title = one.to_owned();
        title.get_mut(..1)?.make_ascii_uppercase();
        let many = operation.replace(&format!("{title}s"), "Many");
        let many = if many == operation { operation.replace(&title, "One") } else { many };
        // The article that people expect.
        let an = if one.starts_with('a') { "an" } else { "a" };
        Some(match many.as_str() {
            "listMany" => format!("List {one}s"),
            "createOne" => format!("Create {an} {one}"),
            "getManyTotals" => format!("Count {one}s"),
            "getManyTrend" => format!("Number of {one}s over time"),
            "getOneFilters" => format!("Values to filter {one}s by"),
            "exportMany" => format!("Export {one}s as CSV or PDF"),
            "getOne" => format!("Show {an} {one}"),
            "updateOne" => format!("Change {an} {one}"),
            "deleteOne" => format!("Delete {an} {one}, to be restored later"),
            "restoreOne" => format!("Restore a deleted {one}"),
            "destroyOne" => format!("Remove {an} {one} for good"),
            "suspendOne" => format!("Suspend {an} {one}"),
            "reactivateOne" => format!("End the suspension of {an} {one}"),
            "getOneStats" => format!("Figures of {an} {one}"),
            "getManyImportTemplate" => format!("File to begin an import of {one}s with"),
            "validateManyImport" => format!("Check a file of {one}s before its import"),
            "confirmManyImport" => format!("Import the {one}s of a checked file"),
            _ => return None,
        })
    })
}

fn line(operation: &str) -> &'static str {
    match operation {
        "getHealth" => "Whether the service answers, and its versions",
        "exchangeToken" => "Begin a session with a token of the identity provider",
        "refreshToken" => "Renew a session",
        "logout" => "End the session",
        "getMe" => "Show oneself, with roles and permissions",
        "changePassword" => "Change one's own password",
        "changeInfo" => "Change one's own name, e-mail address or phone number",
        "putOwnAvatar" => "Set one's own picture",
        "deleteOwnAvatar" => "Remove one's own picture",
        "getAvatar" => "A user's picture",
        "listApiKeys" => "List one's own API keys",
        "createApiKey" => "Create an API key; its token is shown once",
        "listApiKeyAudit" => "What has happened with one's own API keys",
        "revokeApiKey" => "End an API key",
        "listOwnSessions" => "List one's own sessions, with device and last use",
        "endOtherSessions" => "End all of one's own sessions but this one",
        "endOwnSession" => "End one of one's own sessions",
        "getUserPermissions" => "Roles and permissions of whoever has signed in",
        "getUserProfile" => "Whoever has signed in",
        "listRoles" => "List the roles that users can have",
        "listOrganizationRoles" => "List the types of organizations",
        "listThirdPartyApplications" => "List the other applications one may sign in to",
        "listOrganizations" => "List organizations of all types",
        "validateVat" => "Whether a VAT number is taken",
        "promoteReseller" => "Make a reseller a distributor",
        "resetUserPassword" => "Set a user's password",
        "putUserAvatar" => "Set a user's picture",
        "deleteUserAvatar" => "Remove a user's picture",
        "regenerateSystemSecret" => "Replace the secret of a system; the new one is shown once",
        "checkSystemReachability" => "Try whether a system's web interface answers",
        "listSystemBackups" => "List the backups of a system",
        "getSystemBackupDownload" => "Make a link to download a backup",
        "deleteSystemBackup" => "Delete a backup of a system",
        "listInventory" => "List the inventory records of a system",
        "getLatestInventory" => "The latest inventory of a system",
        "getInventoryChanges" => "How much has changed in the inventory of a system",
        "getLatestInventoryChanges" => "How much the latest inventory has changed",
        "listInventoryDiffs" => "List changes in the inventory of a system",
        "getLatestInventoryDiffs" => "Changes of the newest inventory that changed anything",
        "getInventoryTimeline" => "Changes in the inventory of a system by day",
        "getInventory" => "An inventory record",
        "registerSystem" => "Register a system with its secret",
        "getSystemInfo" => "What is known of the calling system",
        "sendHeartbeat" => "Say that the system is alive",
        "sendInventory" => "Send what is on the system",
        "unregisterSystem" => "End the system's registration",
        "getSystemRebranding" => "Names and pictures that the system shows",
        "getSystemRebrandingAsset" => "A picture that the system shows",
        "saveAlertHistory" => "Tell of resolved alerts, as an Alertmanager webhook",
        "storeBackup" => "Store a backup of the system",
        "listBackups" => "List the system's backups",
        "getBackup" => "Read a backup of the system",
        "deleteBackup" => "Delete a backup of the system",
        "downloadBackup" => "Read a backup by its link",
        "issueCredentials" => "Exchange an older pair for key and secret",
        _ => line_of_alerts(operation),
    }
}

fn line_of_alerts(operation: &str) -> &'static str {
    match operation {
        "listOwnAlerts" => "List the system's alerts",
        "pushAlerts" => "Fire or resolve alerts of the system",
        "listOwnSilences" => "List the system's silences",
        "setSilence" => "Create or change a silence of the system",
        "getSilence" | "getSilenceSingular" => "Show a silence of the system",
        "expireSilence" | "expireSilenceSingular" => "End a silence of the system",
        "listOwnAlertGroups" => "List the system's alerts by group",
        "getRouterStatus" => "State of the alert router, without its configuration",
        "listReceivers" => "List the receivers of the alert router",
        "listOrganizationAlerts" => "List an organization's alerts, for Alertmanager tools",
        "listTreeAlerts" => "List alerts of an organization and all below it, for Alertmanager tools",
        "listOrganizationAlertGroups" => "List an organization's alerts by group",
        "listTreeAlertGroups" => "List alerts of an organization and all below it by group",
        "listOrganizationSilences" => "List an organization's silences, for Alertmanager tools",
        "listTreeSilences" => "List silences of an organization and all below it",
        "setOrganizationSilence" => "Create or change a silence of a system of an organization",
        "setTreeSilence" => "Create or change a silence of a system below an organization",
        "getOrganizationSilence" => "Show a silence of an organization",
        "getTreeSilence" => "Show a silence of an organization or one below it",
        "expireOrganizationSilence" => "End a silence of an organization",
        "expireTreeSilence" => "End a silence of an organization or one below it",
        "getOrganizationRouterStatus" | "getTreeRouterStatus" => {
            "State of the alert router, as Alertmanager tools ask for it"
        }
        "getOrganizationRouterMetrics" | "getTreeRouterMetrics" => {
            "Metrics of the alert router, as tools ask for them"
        }
        "listOrganizationReceivers" | "listTreeReceivers" => {
            "List the receivers of the alert router, as tools ask for them"
        }
        "getSecondFactors" => "Show one's own second factors",
        "offerPasskey" => "What a browser needs to make a passkey",
        "addPasskey" => "Add a passkey to one's own account",
        "renamePasskey" => "Rename one's own passkey",
        "removePasskey" => "Remove one's own passkey",
        "offerAuthenticator" => "A secret for an authenticator application",
        "addAuthenticator" => "Add an authenticator application to one's own account",
        "removeAuthenticator" => "Remove one's own authenticator application",
        "createRecoveryCodes" => "Replace one's own recovery codes",
        "resetSecondFactors" => "Remove the second factors that a user has lost",
        "getSecondFactorRequirement" => "Whether an organization requires a second factor",
        "setSecondFactorRequirement" => "Require a second factor of an organization and all below it",
        "isRouterReady" => "Whether the alert router is ready",
        "isRouterHealthy" => "Whether the alert router is healthy",
        "getRouterMetrics" => "Metrics of the alert router",
        "getAlertConfig" => "Show the recipients of an organization's alerts",
        "setAlertConfig" => "Set the recipients of an organization's alerts",
        "disableAlerts" => "Remove the recipients of an organization's alerts",
        "getEffectiveAlertConfig" => {
            "Show the recipients of an organization's alerts, inherited ones included"
        }
        "testAlertRecipient" => "Send a test message to a recipient of one's own organization",
        "listActiveAlerts" => "List active alerts",
        "getAlertsTotals" => "Count active and resolved alerts",
        "getAlertsTrend" => "Number of alerts over time",
        "getAlertsStats" => "Statistics of resolved alerts",
        "listAlertsHistory" => "List alerts of the past",
        "getAlertFilters" => "Values to filter alerts by",
        "listSystemAlerts" => "List active alerts of a system",
        "listSystemAlertsHistory" => "List alerts of a system in the past",
        "listSilences" => "List silences",
        "createSilence" => "Silence an alert",
        "getSilenceById" => "Show a silence",
        "updateSilence" => "Change a silence",
        "deleteSilence" => "End a silence",
        "listSystemSilences" => "List the silences of a system",
        "createSystemSilence" => "Silence an alert of a system",
        "getSystemSilenceById" => "Show a silence of a system",
        "updateSystemSilence" => "Change a silence of a system",
        "deleteSystemSilence" => "End a silence of a system",
        "listAlertActivity" => "What people have done about an alert",
        "addAlertNote" => "Add a note to an alert",
        "assignAlert" => "Take charge of an alert",
        _ => line_of_others(operation),
    }
}

fn line_of_others(operation: &str) -> &'static str {
    match operation {
        "getApplicationsSummary" => "Applications by type and certification",
        "assignApplication" => "Assign an application to an organization",
        "unassignApplication" => "Take an application from its organization",
        "getConsent" => "Whether one has agreed to be impersonated",
        "giveConsent" => "Agree to be impersonated for some hours",
        "withdrawConsent" => "Withdraw that consent",
        "startImpersonation" => "Act as a user who has agreed",
        "endImpersonation" => "End acting as somebody else",
        "getImpersonationStatus" => "Whether one acts as somebody else",
        "listImpersonationSessions" => "List who has acted as whom",
        "getImpersonationSession" => "Show when somebody acted as somebody else",
        "listImpersonationAudit" => "What was done in somebody's name",
        "listRebrandableProducts" => "List products that can have other names and pictures",
        "enableRebranding" => "Allow an organization names and pictures of its own",
        "disableRebranding" => "No longer allow an organization names and pictures of its own",
        "getRebrandingStatus" => "Names and pictures in force for an organization",
        "listRebrandingProducts" => "List products with names and pictures of the organization's own",
        "updateRebranding" => "Set name and pictures of a product",
        "deleteRebrandingProduct" => "Remove name and pictures of a product",
        "getRebrandingAsset" => "A picture of a product",
        "deleteRebrandingAsset" => "Remove a picture of a product",
        "search" => "Find organizations, users, systems and applications by a text",
        "listAudit" => "List who has changed what",
        "listEvents" => "List what has happened",
        "streamEvents" => "Follow what happens",
        "listEventSubscriptions" => "List webhooks for events",
        "createEventSubscription" => "Create a webhook for events; its secret is shown once",
        "getEventSubscription" => "Show a webhook for events",
        "updateEventSubscription" => "Change a webhook for events",
        "deleteEventSubscription" => "No longer tell a webhook of events",
        "rotateEventSubscriptionSecret" => "Replace the secret of a webhook",
        "testEventSubscription" => "Send a test event to a webhook",
        "listEventDeliveries" => "List the deliveries of a webhook",
        "replayEvents" => "Tell a webhook of events again",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn families_share_their_lines() {
        for (name, line) in [
            ("getSystemsTotals", "Count systems"),
            ("createApplication", "Create an application"),
            ("validateUsersImport", "Check a file of users before its import"),
            ("getSystemInfo", "What is known of the calling system"),
            ("sendHeartbeatAlias", "Say that the system is alive (older path)"),
            ("nothing", ""),
        ] {
            assert_eq!(summary(name), line);
        }
    }
}
