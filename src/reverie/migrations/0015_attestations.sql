-- Which record calls a node what, and what it tells of it: whoever may not read the record learns none of that from the
-- graph. All zeros for `record_id`: by hand. `aliases` are the names, normalised, and the addresses.
CREATE TABLE attestation (
    user_id uuid NOT NULL REFERENCES users,
    node_id uuid NOT NULL,
    record_id uuid NOT NULL,
    by text NOT NULL CHECK (by IN ('user', 'model', 'system')),
    names text[] NOT NULL,
    emails text[] NOT NULL,
    aliases text[] COLLATE "C" NOT NULL,
    type text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    properties jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (user_id, node_id, record_id, by),
    FOREIGN KEY (user_id, node_id) REFERENCES node (user_id, id) ON DELETE CASCADE
);
CREATE INDEX attestation_record ON attestation (user_id, record_id);
ALTER TABLE attestation ENABLE ROW LEVEL SECURITY;
ALTER TABLE attestation FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON attestation USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON attestation TO reverie_app;

-- What the record tells of the link. NULL: read before this was kept.
ALTER TABLE evidence ADD COLUMN properties jsonb;
