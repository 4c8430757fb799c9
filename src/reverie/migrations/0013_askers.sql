-- Who asked for an ingestion ({kind, name, scopes, token}): it runs with what they may do. NULL: asked for before this
-- was kept, and it runs as its user.
ALTER TABLE ingestion ADD COLUMN asker jsonb;

-- The kinds of record that a file told of, whether they came in or not: whoever opens its bytes sees all of them.
-- Empty for files of before: then those of the records that came from it count.
ALTER TABLE imported_file ADD COLUMN domains text[] NOT NULL DEFAULT '{}';
CREATE INDEX imported_file_digest ON imported_file (user_id, digest);
CREATE INDEX imported_original ON imported (user_id, original);

-- Whoever has sent some bytes may have them taken in; to everybody else, a digest alone opens nothing.
CREATE TABLE upload (
    user_id uuid NOT NULL REFERENCES users,
    digest text NOT NULL,
    sender text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, digest, sender)
);
ALTER TABLE upload ENABLE ROW LEVEL SECURITY;
ALTER TABLE upload FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON upload USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON upload TO reverie_app;
