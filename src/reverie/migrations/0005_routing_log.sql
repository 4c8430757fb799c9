-- Where every call of a model went: one row a call, and no content. A row is there before the call is made.

CREATE TABLE pii_routing_log (
    user_id uuid NOT NULL REFERENCES users,
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT now(),
    -- Words of the program's: what a user wrote does not fit in here.
    feature text NOT NULL CHECK (feature ~ '^[a-z][a-z0-9_.-]{0,59}$'),
    domain text NOT NULL CHECK (domain ~ '^[a-z_]{0,40}$'),
    record_id uuid,
    lane text NOT NULL CHECK (lane IN ('query', 'realtime', 'bulk')),
    level text NOT NULL CHECK (level IN ('low', 'normal', 'high', 'critical')),
    action text NOT NULL CHECK (action IN ('sent_plain', 'sent_pseudonymised', 'local', 'blocked')),
    destination text NOT NULL CHECK (destination IN ('', 'local', 'cloud')),
    model text NOT NULL CHECK (length(model) <= 200),
    tokens_in bigint NOT NULL CHECK (tokens_in >= 0),
    tokens_out bigint NOT NULL CHECK (tokens_out >= 0),
    outcome text NOT NULL CHECK (outcome IN ('begun', 'done', 'failed', 'stopped', 'refused')),
    PRIMARY KEY (user_id, id),
    -- The table of models-privacy.md once more, where no code can get around it.
    CHECK (destination <> 'cloud' OR level <> 'critical'),
    CHECK (destination <> 'cloud' OR level <> 'high' OR action = 'sent_pseudonymised')
);
CREATE INDEX pii_routing_log_at ON pii_routing_log (user_id, at);

-- How private a record is, where its passages are embedded from.
ALTER TABLE card ADD COLUMN sensitivity text NOT NULL DEFAULT 'normal'
    CHECK (sensitivity IN ('low', 'normal', 'high', 'critical'));
DO $$
DECLARE
    t text;
BEGIN
    ALTER TABLE card NO FORCE ROW LEVEL SECURITY;
    FOR t IN SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = 'public' AND relkind = 'r' AND relname <> 'record' AND relname IN (SELECT domain FROM card)
    LOOP
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('UPDATE card SET sensitivity = r.sensitivity FROM %I AS r'
            || ' WHERE card.user_id = r.user_id AND card.record_id = r.id', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    END LOOP;
    ALTER TABLE card FORCE ROW LEVEL SECURITY;
END
$$;

ALTER TABLE pii_routing_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE pii_routing_log FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON pii_routing_log
    USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE ON pii_routing_log TO reverie_app;
