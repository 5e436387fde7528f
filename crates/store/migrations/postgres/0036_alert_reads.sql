-- Reads of the alert history (contract 04 §2.7). Whether a name still occurs: as many characters as alert_names keeps.
CREATE INDEX alert_history_org_name ON alert_history (organization_id, SUBSTR(alertname, 1, 200));
-- Trends of everything.
CREATE INDEX alert_history_days_day ON alert_history_days (day);
