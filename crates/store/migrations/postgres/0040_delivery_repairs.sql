-- Groups that are being told of, by tenant: a change of who is told, and whoever takes a tenant over, ask for them. An alert
-- may be in the group 'unknown': who is told of it cannot be read, and its tenant has the plan 'unreadable'.
CREATE INDEX router_groups_started ON router_groups (organization_id) WHERE started_at IS NOT NULL;
CREATE INDEX router_tenants_unreadable ON router_tenants (organization_id) WHERE plan = 'unreadable';
