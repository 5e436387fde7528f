-- Since when something has waited to be told, however often that was tried.
ALTER TABLE logto_outbox ADD COLUMN queued_at timestamptz;
