-- What must hold in a database that is at rest: a name and a number of faults for each rule, all 0.
SELECT 'waiting inventories', count(*) FROM inventory_queue
UNION ALL SELECT 'waiting alerts', count(*) FROM alert_queue
UNION ALL SELECT 'waiting events', count(*) FROM event_outbox
UNION ALL SELECT 'alerts that began twice', count(*) FROM (SELECT 1 FROM alert_history
    GROUP BY organization_id, fingerprint, starts_at HAVING count(*) > 1) twice
UNION ALL SELECT 'alerts that fire twice', count(*) FROM (SELECT 1 FROM alert_history WHERE status = 'firing'
    GROUP BY organization_id, fingerprint HAVING count(*) > 1) twice
UNION ALL SELECT 'counters of resolved alerts', count(*) FROM (SELECT organization_id FROM alert_totals t
    WHERE t.history <> (SELECT count(*) FROM alert_history h WHERE h.organization_id = t.organization_id AND h.status = 'resolved')) wrong
UNION ALL SELECT 'counters of systems', count(*) FROM organization_counts n WHERE n.systems <>
    (SELECT count(*) FROM systems s WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL)
UNION ALL SELECT 'counters of systems without a heartbeat', count(*) FROM organization_counts n WHERE n.systems_unknown <>
    (SELECT count(*) FROM systems s JOIN system_activity a ON a.system_id = s.id
     WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.status = 0)
UNION ALL SELECT 'counters of inactive systems', count(*) FROM organization_counts n WHERE n.systems_inactive <>
    (SELECT count(*) FROM systems s JOIN system_activity a ON a.system_id = s.id
     WHERE s.organization_id = n.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.status = 2);
