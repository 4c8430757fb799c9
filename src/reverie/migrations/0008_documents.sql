-- Documents: where each passage of a file stands, ingestions that survive a crash, and what was read so far.

-- The passages of a document as it was cut: [{start, end, place, head}], offsets in characters of `text`.
ALTER TABLE file ADD COLUMN parts jsonb NOT NULL DEFAULT '[]';
ALTER TABLE file ALTER COLUMN parts DROP DEFAULT;

-- What became of a file the last time; it is looked at again when it or its reader has changed.
ALTER TABLE imported_file
    ADD COLUMN state text NOT NULL DEFAULT 'imported',
    ADD COLUMN reason text NOT NULL DEFAULT '',
    ADD COLUMN readers text NOT NULL DEFAULT '';

-- One request to take something in. `request` names paths, an upload or an address; `print` is its hash, so that the
-- same request is not taken twice at a time. `worker` is the process that works on it, and holds a lock of that name.
CREATE TABLE ingestion (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('paths', 'upload', 'url')),
    request jsonb NOT NULL,
    print text NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'running', 'stopped', 'done', 'failed')),
    reason text NOT NULL DEFAULT '',
    worker text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at timestamptz,
    scanned_at timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (user_id, id)
);
CREATE UNIQUE INDEX ingestion_once ON ingestion (user_id, print) WHERE state IN ('waiting', 'running', 'stopped');
CREATE INDEX ingestion_time ON ingestion (user_id, created_at);

-- Its files. `path` is a file's identity in the ledger of imports, `location` where its bytes lie: a path, or the digest
-- of a blob. `units` of `total` (pages, slides, sheets) are read.
CREATE TABLE ingestion_file (
    user_id uuid NOT NULL,
    ingestion_id uuid NOT NULL,
    number int NOT NULL,
    path text NOT NULL,
    relative text NOT NULL,
    location jsonb NOT NULL,
    size bigint NOT NULL DEFAULT 0,
    digest text,
    state text NOT NULL CHECK (state IN ('waiting', 'running', 'imported', 'unchanged', 'skipped', 'failed', 'parked')),
    reason text NOT NULL DEFAULT '',
    units int NOT NULL DEFAULT 0,
    total int NOT NULL DEFAULT 0,
    passages int NOT NULL DEFAULT 0,
    counts jsonb NOT NULL DEFAULT '{}',
    tries int NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, ingestion_id, number),
    FOREIGN KEY (user_id, ingestion_id) REFERENCES ingestion (user_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX ingestion_file_path ON ingestion_file (user_id, ingestion_id, path);

-- What readers have handed over of documents that are not saved yet, a row a unit; 0 is what a document says of itself.
CREATE TABLE unit (
    user_id uuid NOT NULL REFERENCES users,
    digest text NOT NULL,
    readers text NOT NULL,
    number int NOT NULL,
    content jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, digest, readers, number)
);

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['ingestion', 'ingestion_file', 'unit'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;
