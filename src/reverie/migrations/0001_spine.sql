-- The spine: users and tokens, records, the change log, and what is derived from them.
-- Every table has user_id first in its key. Row-level security is switched on for all of them at the end.

CREATE EXTENSION IF NOT EXISTS vector;

-- Who asks -------------------------------------------------------------------------------------------------------

CREATE TABLE users (
    user_id uuid PRIMARY KEY,
    name text NOT NULL,
    timezone text NOT NULL DEFAULT 'UTC',
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE token (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL DEFAULT uuidv7(),
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('user', 'machine', 'agent')),
    hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX token_hash ON token (hash);

-- Records: one table a domain; all start with the same columns ---------------------------------------------------

CREATE TABLE record (
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    source text NOT NULL,
    sensitivity text NOT NULL CHECK (sensitivity IN ('low', 'normal', 'high', 'critical')),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    deleted_at timestamptz,
    custom jsonb NOT NULL,
    PRIMARY KEY (user_id, id)
);

CREATE TABLE note (
    LIKE record INCLUDING ALL,
    title text,
    content text NOT NULL,
    format text NOT NULL,
    tags text[] NOT NULL,
    pinned boolean NOT NULL,
    archived boolean NOT NULL
);

CREATE TABLE event (
    LIKE record INCLUDING ALL,
    title text NOT NULL,
    description text,
    location text,
    start timestamptz NOT NULL,
    "end" timestamptz,
    all_day boolean NOT NULL,
    timezone text NOT NULL,
    start_day date NOT NULL,
    end_day date NOT NULL,
    recurrence text,
    status text NOT NULL,
    calendar text,
    attendees jsonb NOT NULL,
    reminders jsonb NOT NULL
);
CREATE INDEX event_start ON event (user_id, start_day);

CREATE TABLE contact (
    LIKE record INCLUDING ALL,
    display_name text NOT NULL,
    given text,
    family text,
    emails text[] NOT NULL,
    phones text[] NOT NULL,
    company text,
    job_title text,
    address text,
    notes text,
    birthday date
);

CREATE TABLE email (
    LIKE record INCLUDING ALL,
    subject text NOT NULL,
    "from" text,
    "to" text[] NOT NULL,
    cc text[] NOT NULL,
    date timestamptz,
    thread text,
    folder text,
    read boolean NOT NULL,
    attachments jsonb NOT NULL,
    body_text text NOT NULL,
    body_html text,
    message_id text
);
CREATE INDEX email_thread ON email (user_id, thread);

CREATE TABLE file (
    LIKE record INCLUDING ALL,
    name text NOT NULL,
    mime text NOT NULL,
    size bigint NOT NULL,
    sha256 text,
    path text,
    text text NOT NULL,
    category text
);

CREATE TABLE diary (
    LIKE record INCLUDING ALL,
    date date NOT NULL,
    mood text,
    content text NOT NULL
);
CREATE UNIQUE INDEX diary_day ON diary (user_id, date) WHERE deleted_at IS NULL;

CREATE TABLE bookmark (
    LIKE record INCLUDING ALL,
    url text NOT NULL,
    title text,
    excerpt text,
    tags text[] NOT NULL,
    folder text
);

CREATE TABLE task (
    LIKE record INCLUDING ALL,
    title text NOT NULL,
    description text,
    board text NOT NULL,
    "column" text NOT NULL,
    position double precision NOT NULL,
    due date,
    priority text,
    labels text[] NOT NULL,
    checklist jsonb NOT NULL,
    depends_on uuid[] NOT NULL,
    completed_at timestamptz
);

CREATE TABLE feed (
    LIKE record INCLUDING ALL,
    title text NOT NULL,
    url text NOT NULL,
    site_url text,
    description text
);

CREATE TABLE feed_item (
    LIKE record INCLUDING ALL,
    feed_id uuid,
    guid text,
    title text NOT NULL,
    url text,
    author text,
    published timestamptz,
    content text NOT NULL,
    read boolean NOT NULL,
    FOREIGN KEY (user_id, feed_id) REFERENCES feed (user_id, id)
);
CREATE INDEX feed_item_feed ON feed_item (user_id, feed_id);

CREATE TABLE health (
    LIKE record INCLUDING ALL,
    kind text NOT NULL,
    value double precision,
    unit text,
    text text,
    at timestamptz NOT NULL
);

CREATE TABLE transaction (
    LIKE record INCLUDING ALL,
    date date NOT NULL,
    amount numeric NOT NULL,
    currency text NOT NULL,
    counterparty text,
    text text
);

CREATE TABLE run (
    LIKE record INCLUDING ALL,
    title text NOT NULL,
    agent text NOT NULL,
    machine text,
    status text NOT NULL,
    started timestamptz,
    ended timestamptz,
    text text NOT NULL
);

CREATE TABLE chat (
    LIKE record INCLUDING ALL,
    title text NOT NULL,
    started timestamptz,
    turns jsonb NOT NULL
);

DROP TABLE record;

-- The change log: written in the record's own transaction, followed by the slots -----------------------------------
-- Rows become visible out of order, so a follower reads up to the oldest transaction still open: (xid, seq).

CREATE TABLE change (
    user_id uuid NOT NULL REFERENCES users,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    xid bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    domain text NOT NULL,
    record_id uuid NOT NULL,
    action text NOT NULL CHECK (action IN ('create', 'update', 'delete', 'restore')),
    columns text[] NOT NULL,
    source text NOT NULL,
    caller text NOT NULL,
    summary text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (user_id, seq)
);
CREATE INDEX change_order ON change (user_id, xid, seq);
CREATE INDEX change_time ON change (user_id, at);
CREATE INDEX change_record ON change (user_id, record_id, seq);

-- Derived: what search reads ---------------------------------------------------------------------------------------

-- One row a live record: what lists of results show and filter by.
CREATE TABLE card (
    user_id uuid NOT NULL REFERENCES users,
    record_id uuid NOT NULL,
    domain text NOT NULL,
    title text NOT NULL,
    at timestamptz,
    tags text[] NOT NULL,
    PRIMARY KEY (user_id, record_id)
);

CREATE TABLE passage (
    user_id uuid NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    record_id uuid NOT NULL,
    ordinal int NOT NULL,
    place jsonb NOT NULL,
    text text NOT NULL,
    hash bytea NOT NULL,
    length int NOT NULL,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, record_id) REFERENCES card (user_id, record_id)
);
CREATE INDEX passage_record ON passage (user_id, record_id, ordinal);
CREATE INDEX passage_hash ON passage (user_id, hash);

-- Lexical: which passages hold a term, and how much of it. Equality on text is leakproof, so that row-level
-- security lets the index be used; the operators of full-text search are not.
CREATE TABLE posting (
    user_id uuid NOT NULL,
    term text COLLATE "C" NOT NULL,
    passage_id bigint NOT NULL,
    tf real NOT NULL,
    PRIMARY KEY (user_id, term, passage_id) INCLUDE (tf)
);

-- Semantic: one vector a text and model, however many passages hold that text.
CREATE TABLE embedding (
    user_id uuid NOT NULL REFERENCES users,
    model text NOT NULL,
    hash bytea NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (user_id, model, hash)
);

CREATE TABLE heat (
    user_id uuid NOT NULL REFERENCES users,
    record_id uuid NOT NULL,
    accesses double precision NOT NULL,
    incremented_at timestamptz NOT NULL,
    accessed_at timestamptz NOT NULL,
    source text NOT NULL,
    heat double precision NOT NULL,
    PRIMARY KEY (user_id, record_id)
);

-- Followers of the change log ----------------------------------------------------------------------------------------

CREATE TABLE slot (
    user_id uuid NOT NULL REFERENCES users,
    name text NOT NULL,
    xid bigint NOT NULL DEFAULT 0,
    seq bigint NOT NULL DEFAULT 0,
    trouble text,
    trouble_since timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name)
);

-- A change that a slot could not follow: tried again later, dead after some tries, never in the way of others.
CREATE TABLE letter (
    user_id uuid NOT NULL REFERENCES users,
    slot text NOT NULL,
    record_id uuid NOT NULL,
    seq bigint NOT NULL,
    attempts int NOT NULL,
    reason text NOT NULL,
    retry_at timestamptz NOT NULL,
    dead boolean NOT NULL,
    PRIMARY KEY (user_id, slot, record_id)
);

-- What was imported from where: a second run finds everything here --------------------------------------------------

CREATE TABLE imported_file (
    user_id uuid NOT NULL REFERENCES users,
    path text NOT NULL,
    digest text NOT NULL,
    modified timestamptz NOT NULL,
    items int NOT NULL,
    PRIMARY KEY (user_id, path)
);

CREATE TABLE imported (
    user_id uuid NOT NULL REFERENCES users,
    path text NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    domain text NOT NULL,
    record_id uuid NOT NULL,
    version timestamptz NOT NULL,
    modified timestamptz NOT NULL,
    original text NOT NULL,
    PRIMARY KEY (user_id, path, key)
);
CREATE INDEX imported_key ON imported (user_id, key);
CREATE INDEX imported_record ON imported (user_id, record_id);

-- Isolation: enabled and forced everywhere, no context means no rows ---------------------------------------------------

DO $$
DECLARE
    t text;
BEGIN
    FOR t IN
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id'
        WHERE n.nspname = current_schema() AND c.relkind = 'r'
        ORDER BY c.relname
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;

-- Two doors beside it: a token is found by its hash alone, and the workers may learn who the users are.
CREATE POLICY by_hash ON token FOR SELECT
    USING (hash = decode(nullif(current_setting('reverie.token_hash', true), ''), 'hex'));
CREATE POLICY roll ON users FOR SELECT USING (current_setting('reverie.system', true) = 'on');
CREATE POLICY first ON users FOR INSERT WITH CHECK (current_setting('reverie.system', true) = 'on');
