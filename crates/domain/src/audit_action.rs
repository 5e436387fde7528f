//! The actions that the audit log records: every action there is.

use super::OrgType;
use std::fmt;

macro_rules! audit_actions {
    ($($action:ident = $text:literal,)+) => {
        /// An audited action, `<object type>.<verb>` in the log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum AuditAction {
            /// `<family>.create`
            OrganizationCreate(OrgType),
            /// `<family>.update`
            OrganizationUpdate(OrgType),
            /// `<family>.suspend`
            OrganizationSuspend(OrgType),
            /// `<family>.reactivate`
            OrganizationReactivate(OrgType),
            /// `<family>.delete`
            OrganizationDelete(OrgType),
            /// `<family>.restore`
            OrganizationRestore(OrgType),
            /// `<family>.destroy`
            OrganizationDestroy(OrgType),
            $(#[doc = concat!("`", $text, "`")] $action,)+
        }

        impl fmt::Display for AuditAction {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (family, verb) = match self {
                    AuditAction::OrganizationCreate(family) => (family, "create"),
                    AuditAction::OrganizationUpdate(family) => (family, "update"),
                    AuditAction::OrganizationSuspend(family) => (family, "suspend"),
                    AuditAction::OrganizationReactivate(family) => (family, "reactivate"),
                    AuditAction::OrganizationDelete(family) => (family, "delete"),
                    AuditAction::OrganizationRestore(family) => (family, "restore"),
                    AuditAction::OrganizationDestroy(family) => (family, "destroy"),
                    $(AuditAction::$action => return f.write_str($text),)+
                };
                write!(f, "{}.{verb}", family.as_str())
            }
        }
    };
}

audit_actions! {
    OwnerOrganizationCreate = "organization.create",
    UserCreate = "user.create",
    UserUpdate = "user.update",
    UserChangeInfo = "user.change_info",
    UserPassword = "user.password",
    UserReplaceGeneratedPassword = "user.replace_generated_password",
    UserResetForgottenPassword = "user.reset_forgotten_password",
    UserConfirmAddress = "user.confirm_address",
    UserSignIn = "user.sign_in",
    UserEndSessions = "user.end_sessions",
    TokenCreate = "token.create",
    UserAddSecondFactor = "user.add_second_factor",
    UserRemoveSecondFactor = "user.remove_second_factor",
    UserRenamePasskey = "user.rename_passkey",
    UserNewRecoveryCodes = "user.new_recovery_codes",
    UserResetSecondFactors = "user.reset_second_factors",
    OrganizationSecondFactor = "organization.second_factor",
    UserGiveConsent = "user.give_consent",
    UserWithdrawConsent = "user.withdraw_consent",
    UserAllowApplication = "user.allow_application",
    UserWithdrawApplication = "user.withdraw_application",
    UserLink = "user.link",
    UserUnlink = "user.unlink",
    UserAvatar = "user.avatar",
    UserAvatarDelete = "user.avatar_delete",
    UserSuspend = "user.suspend",
    UserReactivate = "user.reactivate",
    UserDelete = "user.delete",
    UserRestore = "user.restore",
    UserDestroy = "user.destroy",
    SystemCreate = "system.create",
    SystemUpdate = "system.update",
    SystemIssueCredentials = "system.issue_credentials",
    SystemImportCredentials = "system.import_credentials",
    SystemForgetLegacy = "system.forget_legacy",
    SystemRegenerateSecret = "system.regenerate_secret",
    SystemReassign = "system.reassign",
    SystemUnregister = "system.unregister",
    SystemDeleteBackup = "system.delete_backup",
    SystemSuspend = "system.suspend",
    SystemReactivate = "system.reactivate",
    SystemDelete = "system.delete",
    SystemRestore = "system.restore",
    SystemDestroy = "system.destroy",
    ApplicationUpdate = "application.update",
    ApplicationDelete = "application.delete",
    ApplicationAssign = "application.assign",
    ApplicationUnassign = "application.unassign",
    ResellerPromote = "reseller.promote",
    RebrandingEnable = "rebranding.enable",
    RebrandingDisable = "rebranding.disable",
    RebrandingUpdate = "rebranding.update",
    RebrandingDelete = "rebranding.delete",
    RebrandingDeleteAsset = "rebranding.delete_asset",
    AlertConfigUpdate = "alert_config.update",
    AlertConfigRemove = "alert_config.remove",
    AlertConfigTest = "alert_config.test",
    AlertSilenceCreate = "alert_silence.create",
    AlertSilenceUpdate = "alert_silence.update",
    AlertSilenceDelete = "alert_silence.delete",
    AlertNote = "alert.note",
    AlertAssign = "alert.assign",
    ApiKeyCreate = "api_key.create",
    ApiKeyRevoke = "api_key.revoke",
    EventSubscriptionCreate = "event_subscription.create",
    EventSubscriptionUpdate = "event_subscription.update",
    EventSubscriptionRotateSecret = "event_subscription.rotate_secret",
    EventSubscriptionTest = "event_subscription.test",
    EventSubscriptionReplay = "event_subscription.replay",
    EventSubscriptionDisable = "event_subscription.disable",
    EventSubscriptionDelete = "event_subscription.delete",
    ImpersonationStart = "impersonation.start",
    ImpersonationEnd = "impersonation.end",
}
