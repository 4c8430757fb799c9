-- What the migrations make, for reading and for the diff: never applied, never edited by hand.
-- Written by `python tests/embedded/write_schema.py`; tests/embedded/test_migrations.py keeps it equal.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE TABLE agent (
    user_id uuid NOT NULL,
    name text NOT NULL,
    about text NOT NULL,
    scopes text[] NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY agent FORCE ROW LEVEL SECURITY;

CREATE TABLE alias (
    user_id uuid NOT NULL,
    alias text NOT NULL COLLATE pg_catalog."C",
    node_id uuid NOT NULL,
    kind text NOT NULL,
    CONSTRAINT alias_alias_check CHECK ((alias <> ''::text)),
    CONSTRAINT alias_kind_check CHECK ((kind = ANY (ARRAY['name'::text, 'email'::text])))
);

ALTER TABLE ONLY alias FORCE ROW LEVEL SECURITY;

CREATE TABLE apart (
    user_id uuid NOT NULL,
    first_id uuid NOT NULL,
    second_id uuid NOT NULL
);

ALTER TABLE ONLY apart FORCE ROW LEVEL SECURITY;

CREATE TABLE attempt (
    user_id uuid NOT NULL,
    who bytea NOT NULL,
    count integer NOT NULL,
    since timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY attempt FORCE ROW LEVEL SECURITY;

CREATE TABLE attestation (
    user_id uuid NOT NULL,
    node_id uuid NOT NULL,
    record_id uuid NOT NULL,
    by text NOT NULL,
    names text[] NOT NULL,
    emails text[] NOT NULL,
    aliases text[] NOT NULL COLLATE pg_catalog."C",
    type text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    properties jsonb DEFAULT '{}'::jsonb NOT NULL,
    CONSTRAINT attestation_by_check CHECK ((by = ANY (ARRAY['user'::text, 'model'::text, 'system'::text])))
);

ALTER TABLE ONLY attestation FORCE ROW LEVEL SECURITY;

CREATE TABLE bookmark (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    url text NOT NULL,
    title text,
    excerpt text,
    tags text[] NOT NULL,
    folder text,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY bookmark FORCE ROW LEVEL SECURITY;

CREATE TABLE card (
    user_id uuid NOT NULL,
    record_id uuid NOT NULL,
    domain text NOT NULL,
    title text NOT NULL,
    at timestamp with time zone,
    tags text[] NOT NULL,
    people text[] DEFAULT '{}'::text[] NOT NULL,
    category text DEFAULT ''::text NOT NULL,
    origin text DEFAULT ''::text NOT NULL,
    sensitivity text DEFAULT 'normal'::text NOT NULL,
    CONSTRAINT card_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY card FORCE ROW LEVEL SECURITY;

CREATE TABLE change (
    user_id uuid NOT NULL,
    seq bigint NOT NULL,
    xid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    domain text NOT NULL,
    record_id uuid NOT NULL,
    action text NOT NULL,
    columns text[] NOT NULL,
    source text NOT NULL,
    caller text NOT NULL,
    summary text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT change_action_check CHECK ((action = ANY (ARRAY['create'::text, 'update'::text, 'delete'::text, 'restore'::text])))
);

ALTER TABLE ONLY change FORCE ROW LEVEL SECURITY;

ALTER TABLE change ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME change_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE chat (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text NOT NULL,
    started timestamp with time zone,
    turns jsonb NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY chat FORCE ROW LEVEL SECURITY;

CREATE TABLE contact (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    display_name text NOT NULL,
    given text,
    family text,
    emails text[] NOT NULL,
    phones text[] NOT NULL,
    company text,
    job_title text,
    address text,
    notes text,
    birthday date,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY contact FORCE ROW LEVEL SECURITY;

CREATE TABLE dead_letter (
    user_id uuid NOT NULL,
    slot text NOT NULL,
    record_id uuid NOT NULL,
    seq bigint NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    retry_at timestamp with time zone NOT NULL,
    dead boolean NOT NULL
);

ALTER TABLE ONLY dead_letter FORCE ROW LEVEL SECURITY;

CREATE TABLE diary (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    date date NOT NULL,
    mood text,
    content text NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY diary FORCE ROW LEVEL SECURITY;

CREATE TABLE email (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    subject text NOT NULL,
    "from" text,
    "to" text[] NOT NULL,
    cc text[] NOT NULL,
    date timestamp with time zone,
    thread text,
    folder text,
    read boolean NOT NULL,
    attachments jsonb NOT NULL,
    body_text text NOT NULL,
    body_html text,
    message_id text,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY email FORCE ROW LEVEL SECURITY;

CREATE TABLE embedding (
    user_id uuid NOT NULL,
    model text NOT NULL,
    hash bytea NOT NULL,
    vector halfvec NOT NULL,
    dimensions smallint NOT NULL
);

ALTER TABLE ONLY embedding FORCE ROW LEVEL SECURITY;

CREATE TABLE erased (
    user_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C"
);

ALTER TABLE ONLY erased FORCE ROW LEVEL SECURITY;

CREATE TABLE event (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text NOT NULL,
    description text,
    location text,
    start timestamp with time zone NOT NULL,
    "end" timestamp with time zone,
    all_day boolean NOT NULL,
    timezone text NOT NULL,
    start_day date NOT NULL,
    end_day date NOT NULL,
    recurrence text,
    status text NOT NULL,
    calendar text,
    attendees jsonb NOT NULL,
    reminders jsonb NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY event FORCE ROW LEVEL SECURITY;

CREATE TABLE evidence (
    user_id uuid NOT NULL,
    link_id uuid NOT NULL,
    record_id uuid NOT NULL,
    by text NOT NULL,
    ordinal integer,
    at timestamp with time zone DEFAULT now() NOT NULL,
    properties jsonb,
    CONSTRAINT evidence_by_check CHECK ((by = ANY (ARRAY['user'::text, 'model'::text, 'system'::text])))
);

ALTER TABLE ONLY evidence FORCE ROW LEVEL SECURITY;

CREATE TABLE feed (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text NOT NULL,
    url text NOT NULL,
    site_url text,
    description text,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY feed FORCE ROW LEVEL SECURITY;

CREATE TABLE feed_item (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    feed_id uuid,
    guid text,
    title text NOT NULL,
    url text,
    author text,
    published timestamp with time zone,
    content text NOT NULL,
    read boolean NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY feed_item FORCE ROW LEVEL SECURITY;

CREATE TABLE file (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    name text NOT NULL,
    mime text NOT NULL,
    size bigint NOT NULL,
    sha256 text,
    path text,
    text text NOT NULL,
    category text,
    parts jsonb NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY file FORCE ROW LEVEL SECURITY;

CREATE TABLE fresh (
    user_id uuid NOT NULL,
    passage_id bigint NOT NULL
);

ALTER TABLE ONLY fresh FORCE ROW LEVEL SECURITY;

CREATE TABLE graph (
    user_id uuid NOT NULL,
    version bigint NOT NULL
);

ALTER TABLE ONLY graph FORCE ROW LEVEL SECURITY;

CREATE TABLE health (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    kind text NOT NULL,
    value double precision,
    unit text,
    text text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY health FORCE ROW LEVEL SECURITY;

CREATE TABLE heat (
    user_id uuid NOT NULL,
    record_id uuid NOT NULL,
    accesses double precision NOT NULL,
    incremented_at timestamp with time zone NOT NULL,
    accessed_at timestamp with time zone NOT NULL,
    source text NOT NULL,
    heat double precision NOT NULL
);

ALTER TABLE ONLY heat FORCE ROW LEVEL SECURITY;

CREATE TABLE imported (
    user_id uuid NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    domain text NOT NULL,
    record_id uuid NOT NULL,
    version timestamp with time zone NOT NULL,
    modified timestamp with time zone NOT NULL,
    original text NOT NULL,
    content bytea
);

ALTER TABLE ONLY imported FORCE ROW LEVEL SECURITY;

CREATE TABLE imported_file (
    user_id uuid NOT NULL,
    path text NOT NULL,
    digest text NOT NULL,
    modified timestamp with time zone NOT NULL,
    items integer NOT NULL,
    state text DEFAULT 'imported'::text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    readers text DEFAULT ''::text NOT NULL,
    domains text[] DEFAULT '{}'::text[] NOT NULL
);

ALTER TABLE ONLY imported_file FORCE ROW LEVEL SECURITY;

CREATE TABLE ingestion (
    user_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    request jsonb NOT NULL,
    print text NOT NULL,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    worker text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    scanned_at timestamp with time zone,
    finished_at timestamp with time zone,
    asker jsonb,
    CONSTRAINT ingestion_kind_check CHECK ((kind = ANY (ARRAY['paths'::text, 'upload'::text, 'url'::text]))),
    CONSTRAINT ingestion_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'stopped'::text, 'done'::text, 'failed'::text])))
);

ALTER TABLE ONLY ingestion FORCE ROW LEVEL SECURITY;

CREATE TABLE ingestion_file (
    user_id uuid NOT NULL,
    ingestion_id uuid NOT NULL,
    number integer NOT NULL,
    path text NOT NULL,
    relative text NOT NULL,
    location jsonb NOT NULL,
    size bigint DEFAULT 0 NOT NULL,
    digest text,
    state text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    units integer DEFAULT 0 NOT NULL,
    total integer DEFAULT 0 NOT NULL,
    passages integer DEFAULT 0 NOT NULL,
    counts jsonb DEFAULT '{}'::jsonb NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT ingestion_file_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'running'::text, 'imported'::text, 'unchanged'::text, 'skipped'::text, 'failed'::text, 'parked'::text])))
);

ALTER TABLE ONLY ingestion_file FORCE ROW LEVEL SECURITY;

CREATE TABLE link (
    user_id uuid NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    relation text NOT NULL,
    link_type text NOT NULL,
    confidence real NOT NULL,
    created_by text NOT NULL,
    properties jsonb DEFAULT '{}'::jsonb NOT NULL,
    valid_from timestamp with time zone,
    valid_to timestamp with time zone,
    told_end boolean DEFAULT false NOT NULL,
    heat real DEFAULT 0 NOT NULL,
    warmed_at timestamp with time zone,
    hidden_by uuid,
    double_of uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT link_check CHECK (((valid_to IS NULL) OR (valid_from IS NULL) OR (valid_to >= valid_from))),
    CONSTRAINT link_confidence_check CHECK (((confidence >= (0)::double precision) AND (confidence <= (1)::double precision))),
    CONSTRAINT link_created_by_check CHECK ((created_by = ANY (ARRAY['user'::text, 'model'::text, 'system'::text]))),
    CONSTRAINT link_link_type_check CHECK ((link_type = ANY (ARRAY['manual'::text, 'extracted'::text, 'inferred'::text, 'structural'::text])))
);

ALTER TABLE ONLY link FORCE ROW LEVEL SECURITY;

CREATE TABLE login (
    user_id uuid NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);

ALTER TABLE ONLY login FORCE ROW LEVEL SECURITY;

CREATE TABLE merge (
    user_id uuid NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    winner_id uuid NOT NULL,
    loser_id uuid NOT NULL,
    by text NOT NULL,
    changes jsonb NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    undone_at timestamp with time zone
);

ALTER TABLE ONLY merge FORCE ROW LEVEL SECURITY;

CREATE TABLE migration (
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE model (
    user_id uuid NOT NULL,
    name text NOT NULL,
    dimensions integer,
    vectors bigint DEFAULT 0 NOT NULL,
    chosen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    floor double precision,
    scale double precision,
    spread double precision,
    means real[],
    measured_at timestamp with time zone,
    pace_letters double precision DEFAULT 0 NOT NULL,
    pace_seconds double precision DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY model FORCE ROW LEVEL SECURITY;

CREATE TABLE node (
    user_id uuid NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    name text NOT NULL,
    type text DEFAULT ''::text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    properties jsonb DEFAULT '{}'::jsonb NOT NULL,
    is_owner boolean DEFAULT false NOT NULL,
    created_by text NOT NULL,
    domain text,
    record_id uuid,
    links integer DEFAULT 0 NOT NULL,
    salience real DEFAULT 0 NOT NULL,
    touched_at timestamp with time zone DEFAULT now() NOT NULL,
    hash bytea,
    merged_into uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT node_created_by_check CHECK ((created_by = ANY (ARRAY['user'::text, 'model'::text, 'system'::text]))),
    CONSTRAINT node_kind_check CHECK ((kind = ANY (ARRAY['person'::text, 'concept'::text, 'entity'::text, 'source'::text, 'artifact'::text]))),
    CONSTRAINT node_name_check CHECK ((name <> ''::text))
);

ALTER TABLE ONLY node FORCE ROW LEVEL SECURITY;

CREATE TABLE note (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text,
    content text NOT NULL,
    format text NOT NULL,
    tags text[] NOT NULL,
    pinned boolean NOT NULL,
    archived boolean NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY note FORCE ROW LEVEL SECURITY;

CREATE TABLE passage (
    user_id uuid NOT NULL,
    id bigint NOT NULL,
    record_id uuid NOT NULL,
    ordinal integer NOT NULL,
    place jsonb NOT NULL,
    text text NOT NULL,
    hash bytea,
    length integer NOT NULL,
    terms bytea,
    head text DEFAULT ''::text NOT NULL
);
ALTER TABLE ONLY passage ALTER COLUMN terms SET STORAGE EXTERNAL;

ALTER TABLE ONLY passage FORCE ROW LEVEL SECURITY;

ALTER TABLE passage ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME passage_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE password (
    user_id uuid NOT NULL,
    hash text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY password FORCE ROW LEVEL SECURITY;

CREATE TABLE pii_routing_log (
    user_id uuid NOT NULL,
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    feature text NOT NULL,
    domain text NOT NULL,
    record_id uuid,
    lane text NOT NULL,
    level text NOT NULL,
    action text NOT NULL,
    destination text NOT NULL,
    model text NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    outcome text NOT NULL,
    CONSTRAINT pii_routing_log_action_check CHECK ((action = ANY (ARRAY['sent_plain'::text, 'sent_pseudonymised'::text, 'local'::text, 'blocked'::text]))),
    CONSTRAINT pii_routing_log_check CHECK (((destination <> 'cloud'::text) OR (level <> 'critical'::text))),
    CONSTRAINT pii_routing_log_check1 CHECK (((destination <> 'cloud'::text) OR (level <> 'high'::text) OR (action = 'sent_pseudonymised'::text))),
    CONSTRAINT pii_routing_log_destination_check CHECK ((destination = ANY (ARRAY[''::text, 'local'::text, 'cloud'::text]))),
    CONSTRAINT pii_routing_log_domain_check CHECK ((domain ~ '^[a-z_]{0,40}$'::text)),
    CONSTRAINT pii_routing_log_feature_check CHECK ((feature ~ '^[a-z][a-z0-9_.-]{0,59}$'::text)),
    CONSTRAINT pii_routing_log_lane_check CHECK ((lane = ANY (ARRAY['query'::text, 'realtime'::text, 'bulk'::text]))),
    CONSTRAINT pii_routing_log_level_check CHECK ((level = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text]))),
    CONSTRAINT pii_routing_log_model_check CHECK ((length(model) <= 200)),
    CONSTRAINT pii_routing_log_outcome_check CHECK ((outcome = ANY (ARRAY['begun'::text, 'done'::text, 'failed'::text, 'stopped'::text, 'refused'::text]))),
    CONSTRAINT pii_routing_log_tokens_in_check CHECK ((tokens_in >= 0)),
    CONSTRAINT pii_routing_log_tokens_out_check CHECK ((tokens_out >= 0))
);

ALTER TABLE ONLY pii_routing_log FORCE ROW LEVEL SECURITY;

ALTER TABLE pii_routing_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME pii_routing_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE posting (
    user_id uuid NOT NULL,
    segment bigint NOT NULL,
    term bigint NOT NULL,
    part smallint NOT NULL,
    n integer NOT NULL,
    entries bytea NOT NULL
);
ALTER TABLE ONLY posting ALTER COLUMN entries SET STORAGE EXTERNAL;

ALTER TABLE ONLY posting FORCE ROW LEVEL SECURITY;

CREATE TABLE pseudonym (
    user_id uuid NOT NULL,
    scope text NOT NULL,
    kind text NOT NULL,
    digest bytea NOT NULL,
    token text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT pseudonym_kind_check CHECK ((kind <> ''::text))
);

ALTER TABLE ONLY pseudonym FORCE ROW LEVEL SECURITY;

CREATE TABLE pseudonym_key (
    user_id uuid NOT NULL,
    id bytea NOT NULL
);

ALTER TABLE ONLY pseudonym_key FORCE ROW LEVEL SECURITY;

CREATE TABLE record_version (
    user_id uuid NOT NULL,
    seq bigint NOT NULL,
    record_id uuid NOT NULL,
    replaced jsonb NOT NULL
);

ALTER TABLE ONLY record_version FORCE ROW LEVEL SECURITY;

CREATE TABLE run (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text NOT NULL,
    agent text NOT NULL,
    machine text,
    status text NOT NULL,
    started timestamp with time zone,
    ended timestamp with time zone,
    text text NOT NULL,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY run FORCE ROW LEVEL SECURITY;

CREATE TABLE segment (
    user_id uuid NOT NULL,
    id bigint NOT NULL,
    size integer NOT NULL,
    words bigint NOT NULL,
    passages bytea NOT NULL
);
ALTER TABLE ONLY segment ALTER COLUMN passages SET STORAGE EXTERNAL;

ALTER TABLE ONLY segment FORCE ROW LEVEL SECURITY;

ALTER TABLE segment ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME segment_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE slot (
    user_id uuid NOT NULL,
    name text NOT NULL,
    xid bigint DEFAULT 0 NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    trouble text,
    trouble_since timestamp with time zone,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY slot FORCE ROW LEVEL SECURITY;

CREATE TABLE stale (
    user_id uuid NOT NULL,
    hash bytea NOT NULL
);

ALTER TABLE ONLY stale FORCE ROW LEVEL SECURITY;

CREATE TABLE task (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    title text NOT NULL,
    description text,
    board text NOT NULL,
    "column" text NOT NULL,
    "position" double precision NOT NULL,
    due date,
    priority text,
    labels text[] NOT NULL,
    checklist jsonb NOT NULL,
    depends_on uuid[] NOT NULL,
    completed_at timestamp with time zone,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY task FORCE ROW LEVEL SECURITY;

CREATE TABLE token (
    user_id uuid NOT NULL,
    id uuid DEFAULT uuidv7() NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    minted_by uuid,
    CONSTRAINT token_kind_check CHECK ((kind = ANY (ARRAY['user'::text, 'machine'::text, 'agent'::text])))
);

ALTER TABLE ONLY token FORCE ROW LEVEL SECURITY;

CREATE TABLE transaction (
    user_id uuid CONSTRAINT record_user_id_not_null NOT NULL,
    id uuid CONSTRAINT record_id_not_null NOT NULL,
    source text CONSTRAINT record_source_not_null NOT NULL,
    sensitivity text CONSTRAINT record_sensitivity_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT record_created_at_not_null NOT NULL,
    updated_at timestamp with time zone CONSTRAINT record_updated_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    custom jsonb CONSTRAINT record_custom_not_null NOT NULL,
    date date NOT NULL,
    amount numeric NOT NULL,
    currency text,
    counterparty text,
    text text,
    CONSTRAINT record_sensitivity_check CHECK ((sensitivity = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text, 'critical'::text])))
);

ALTER TABLE ONLY transaction FORCE ROW LEVEL SECURITY;

CREATE TABLE unembedded (
    user_id uuid NOT NULL,
    hash bytea NOT NULL,
    seq bigint,
    level smallint NOT NULL,
    heat double precision NOT NULL,
    at timestamp with time zone NOT NULL,
    length integer NOT NULL,
    CONSTRAINT unembedded_level_check CHECK (((level >= 0) AND (level <= 2)))
);

ALTER TABLE ONLY unembedded FORCE ROW LEVEL SECURITY;

CREATE TABLE unit (
    user_id uuid NOT NULL,
    digest text NOT NULL,
    readers text NOT NULL,
    number integer NOT NULL,
    content jsonb NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

ALTER TABLE ONLY unit FORCE ROW LEVEL SECURITY;

CREATE TABLE upload (
    user_id uuid NOT NULL,
    digest text NOT NULL,
    sender text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY upload FORCE ROW LEVEL SECURITY;

CREATE TABLE users (
    user_id uuid NOT NULL,
    name text NOT NULL,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    role text DEFAULT 'member'::text NOT NULL,
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['owner'::text, 'member'::text])))
);

ALTER TABLE ONLY users FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (user_id, name);

ALTER TABLE ONLY alias
    ADD CONSTRAINT alias_pkey PRIMARY KEY (user_id, alias, node_id);

ALTER TABLE ONLY apart
    ADD CONSTRAINT apart_pkey PRIMARY KEY (user_id, first_id, second_id);

ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (user_id, who);

ALTER TABLE ONLY attestation
    ADD CONSTRAINT attestation_pkey PRIMARY KEY (user_id, node_id, record_id, by);

ALTER TABLE ONLY bookmark
    ADD CONSTRAINT bookmark_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY card
    ADD CONSTRAINT card_pkey PRIMARY KEY (user_id, record_id);

ALTER TABLE ONLY change
    ADD CONSTRAINT change_pkey PRIMARY KEY (user_id, seq);

ALTER TABLE ONLY chat
    ADD CONSTRAINT chat_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY contact
    ADD CONSTRAINT contact_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (user_id, slot, record_id);

ALTER TABLE ONLY diary
    ADD CONSTRAINT diary_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY email
    ADD CONSTRAINT email_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (user_id, model, hash);

ALTER TABLE ONLY erased
    ADD CONSTRAINT erased_pkey PRIMARY KEY (user_id, key);

ALTER TABLE ONLY event
    ADD CONSTRAINT event_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (user_id, link_id, record_id, by);

ALTER TABLE ONLY feed_item
    ADD CONSTRAINT feed_item_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY file
    ADD CONSTRAINT file_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY fresh
    ADD CONSTRAINT fresh_pkey PRIMARY KEY (user_id, passage_id);

ALTER TABLE ONLY graph
    ADD CONSTRAINT graph_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY health
    ADD CONSTRAINT health_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY heat
    ADD CONSTRAINT heat_pkey PRIMARY KEY (user_id, record_id);

ALTER TABLE ONLY imported_file
    ADD CONSTRAINT imported_file_pkey PRIMARY KEY (user_id, path);

ALTER TABLE ONLY imported
    ADD CONSTRAINT imported_pkey PRIMARY KEY (user_id, path, key);

ALTER TABLE ONLY ingestion_file
    ADD CONSTRAINT ingestion_file_pkey PRIMARY KEY (user_id, ingestion_id, number);

ALTER TABLE ONLY ingestion
    ADD CONSTRAINT ingestion_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY link
    ADD CONSTRAINT link_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY login
    ADD CONSTRAINT login_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY merge
    ADD CONSTRAINT merge_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);

ALTER TABLE ONLY model
    ADD CONSTRAINT model_pkey PRIMARY KEY (user_id, name);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_user_id_key_key UNIQUE (user_id, key);

ALTER TABLE ONLY note
    ADD CONSTRAINT note_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY passage
    ADD CONSTRAINT passage_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY password
    ADD CONSTRAINT password_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY pii_routing_log
    ADD CONSTRAINT pii_routing_log_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY posting
    ADD CONSTRAINT posting_pkey PRIMARY KEY (user_id, segment, term, part);

ALTER TABLE ONLY pseudonym_key
    ADD CONSTRAINT pseudonym_key_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY pseudonym
    ADD CONSTRAINT pseudonym_pkey PRIMARY KEY (user_id, scope, kind, digest);

ALTER TABLE ONLY pseudonym
    ADD CONSTRAINT pseudonym_user_id_scope_token_key UNIQUE (user_id, scope, token);

ALTER TABLE ONLY record_version
    ADD CONSTRAINT record_version_pkey PRIMARY KEY (user_id, seq);

ALTER TABLE ONLY run
    ADD CONSTRAINT run_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY segment
    ADD CONSTRAINT segment_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY slot
    ADD CONSTRAINT slot_pkey PRIMARY KEY (user_id, name);

ALTER TABLE ONLY stale
    ADD CONSTRAINT stale_pkey PRIMARY KEY (user_id, hash);

ALTER TABLE ONLY task
    ADD CONSTRAINT task_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY token
    ADD CONSTRAINT token_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY transaction
    ADD CONSTRAINT transaction_pkey PRIMARY KEY (user_id, id);

ALTER TABLE ONLY unembedded
    ADD CONSTRAINT unembedded_pkey PRIMARY KEY (user_id, hash);

ALTER TABLE ONLY unit
    ADD CONSTRAINT unit_pkey PRIMARY KEY (user_id, digest, readers, number);

ALTER TABLE ONLY upload
    ADD CONSTRAINT upload_pkey PRIMARY KEY (user_id, digest, sender);

ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);

CREATE INDEX alias_node ON alias USING btree (user_id, node_id);

CREATE INDEX attestation_record ON attestation USING btree (user_id, record_id);

CREATE INDEX change_order ON change USING btree (user_id, xid, seq);

CREATE INDEX change_record ON change USING btree (user_id, record_id, seq);

CREATE INDEX change_time ON change USING btree (user_id, at);

CREATE INDEX contact_name ON contact USING btree (user_id, lower(display_name));

CREATE UNIQUE INDEX diary_day ON diary USING btree (user_id, date) WHERE (deleted_at IS NULL);

CREATE INDEX email_thread ON email USING btree (user_id, thread);

CREATE INDEX embedding_1024 ON embedding USING hnsw (((vector)::halfvec(1024)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 1024);

CREATE INDEX embedding_1536 ON embedding USING hnsw (((vector)::halfvec(1536)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 1536);

CREATE INDEX embedding_2048 ON embedding USING hnsw (((vector)::halfvec(2048)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 2048);

CREATE INDEX embedding_256 ON embedding USING hnsw (((vector)::halfvec(256)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 256);

CREATE INDEX embedding_3072 ON embedding USING hnsw (((vector)::halfvec(3072)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 3072);

CREATE INDEX embedding_384 ON embedding USING hnsw (((vector)::halfvec(384)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 384);

CREATE INDEX embedding_512 ON embedding USING hnsw (((vector)::halfvec(512)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 512);

CREATE INDEX embedding_768 ON embedding USING hnsw (((vector)::halfvec(768)) halfvec_ip_ops) WITH (m='16', ef_construction='128') WHERE (dimensions = 768);

CREATE INDEX event_start ON event USING btree (user_id, start_day);

CREATE INDEX evidence_record ON evidence USING btree (user_id, record_id);

CREATE INDEX feed_item_feed ON feed_item USING btree (user_id, feed_id);

CREATE INDEX imported_file_digest ON imported_file USING btree (user_id, digest);

CREATE INDEX imported_key ON imported USING btree (user_id, key);

CREATE INDEX imported_original ON imported USING btree (user_id, original);

CREATE INDEX imported_record ON imported USING btree (user_id, record_id);

CREATE UNIQUE INDEX ingestion_file_path ON ingestion_file USING btree (user_id, ingestion_id, path);

CREATE UNIQUE INDEX ingestion_once ON ingestion USING btree (user_id, print) WHERE (state = ANY (ARRAY['waiting'::text, 'running'::text, 'stopped'::text]));

CREATE INDEX ingestion_time ON ingestion USING btree (user_id, created_at);

CREATE INDEX link_double ON link USING btree (user_id, double_of) WHERE (double_of IS NOT NULL);

CREATE INDEX link_from ON link USING btree (user_id, from_id);

CREATE INDEX link_hidden ON link USING btree (user_id, hidden_by) WHERE (hidden_by IS NOT NULL);

CREATE UNIQUE INDEX link_once ON link USING btree (user_id, from_id, to_id, relation, valid_from) NULLS NOT DISTINCT WHERE (hidden_by IS NULL);

CREATE INDEX link_to ON link USING btree (user_id, to_id);

CREATE INDEX login_hash ON login USING btree (hash);

CREATE INDEX merge_loser ON merge USING btree (user_id, loser_id);

CREATE INDEX merge_winner ON merge USING btree (user_id, winner_id);

CREATE INDEX node_hash ON node USING btree (user_id, hash) WHERE (hash IS NOT NULL);

CREATE INDEX node_kind ON node USING btree (user_id, kind, links DESC);

CREATE INDEX node_merged ON node USING btree (user_id, merged_into) WHERE (merged_into IS NOT NULL);

CREATE INDEX node_record ON node USING btree (user_id, record_id) WHERE (record_id IS NOT NULL);

CREATE INDEX node_top ON node USING btree (user_id, links DESC, id) WHERE (kind <> 'source'::text);

CREATE INDEX passage_hash ON passage USING btree (user_id, hash);

CREATE INDEX passage_outdated ON passage USING btree (user_id) WHERE (terms IS NULL);

CREATE INDEX passage_record ON passage USING btree (user_id, record_id, ordinal);

CREATE INDEX pii_routing_log_at ON pii_routing_log USING btree (user_id, at);

CREATE INDEX record_version_record ON record_version USING btree (user_id, record_id, seq);

CREATE INDEX token_hash ON token USING btree (hash);

CREATE INDEX token_minted_by ON token USING btree (user_id, minted_by);

CREATE INDEX unembedded_order ON unembedded USING btree (user_id, level, heat DESC, at DESC, hash);

ALTER TABLE ONLY agent
    ADD CONSTRAINT agent_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY alias
    ADD CONSTRAINT alias_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY alias
    ADD CONSTRAINT alias_user_id_node_id_fkey FOREIGN KEY (user_id, node_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY apart
    ADD CONSTRAINT apart_user_id_first_id_fkey FOREIGN KEY (user_id, first_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY apart
    ADD CONSTRAINT apart_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY apart
    ADD CONSTRAINT apart_user_id_second_id_fkey FOREIGN KEY (user_id, second_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY attestation
    ADD CONSTRAINT attestation_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY attestation
    ADD CONSTRAINT attestation_user_id_node_id_fkey FOREIGN KEY (user_id, node_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY card
    ADD CONSTRAINT card_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY change
    ADD CONSTRAINT change_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY dead_letter
    ADD CONSTRAINT dead_letter_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY embedding
    ADD CONSTRAINT embedding_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY erased
    ADD CONSTRAINT erased_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY evidence
    ADD CONSTRAINT evidence_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY evidence
    ADD CONSTRAINT evidence_user_id_link_id_fkey FOREIGN KEY (user_id, link_id) REFERENCES link(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY feed_item
    ADD CONSTRAINT feed_item_user_id_feed_id_fkey FOREIGN KEY (user_id, feed_id) REFERENCES feed(user_id, id);

ALTER TABLE ONLY fresh
    ADD CONSTRAINT fresh_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY graph
    ADD CONSTRAINT graph_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY heat
    ADD CONSTRAINT heat_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY imported_file
    ADD CONSTRAINT imported_file_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY imported
    ADD CONSTRAINT imported_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY ingestion_file
    ADD CONSTRAINT ingestion_file_user_id_ingestion_id_fkey FOREIGN KEY (user_id, ingestion_id) REFERENCES ingestion(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY ingestion
    ADD CONSTRAINT ingestion_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY link
    ADD CONSTRAINT link_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY link
    ADD CONSTRAINT link_user_id_from_id_fkey FOREIGN KEY (user_id, from_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY link
    ADD CONSTRAINT link_user_id_to_id_fkey FOREIGN KEY (user_id, to_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY login
    ADD CONSTRAINT login_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY merge
    ADD CONSTRAINT merge_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY merge
    ADD CONSTRAINT merge_user_id_loser_id_fkey FOREIGN KEY (user_id, loser_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY merge
    ADD CONSTRAINT merge_user_id_winner_id_fkey FOREIGN KEY (user_id, winner_id) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY model
    ADD CONSTRAINT model_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY node
    ADD CONSTRAINT node_user_id_merged_into_fkey FOREIGN KEY (user_id, merged_into) REFERENCES node(user_id, id) ON DELETE CASCADE;

ALTER TABLE ONLY passage
    ADD CONSTRAINT passage_user_id_record_id_fkey FOREIGN KEY (user_id, record_id) REFERENCES card(user_id, record_id);

ALTER TABLE ONLY password
    ADD CONSTRAINT password_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY pii_routing_log
    ADD CONSTRAINT pii_routing_log_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY pseudonym_key
    ADD CONSTRAINT pseudonym_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY pseudonym
    ADD CONSTRAINT pseudonym_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY record_version
    ADD CONSTRAINT record_version_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY record_version
    ADD CONSTRAINT record_version_user_id_seq_fkey FOREIGN KEY (user_id, seq) REFERENCES change(user_id, seq) ON DELETE CASCADE;

ALTER TABLE ONLY segment
    ADD CONSTRAINT segment_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY slot
    ADD CONSTRAINT slot_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY stale
    ADD CONSTRAINT stale_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY token
    ADD CONSTRAINT token_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY token
    ADD CONSTRAINT token_user_id_minted_by_fkey FOREIGN KEY (user_id, minted_by) REFERENCES token(user_id, id);

ALTER TABLE ONLY unembedded
    ADD CONSTRAINT unembedded_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY unit
    ADD CONSTRAINT unit_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE ONLY upload
    ADD CONSTRAINT upload_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(user_id);

ALTER TABLE agent ENABLE ROW LEVEL SECURITY;

ALTER TABLE alias ENABLE ROW LEVEL SECURITY;

ALTER TABLE apart ENABLE ROW LEVEL SECURITY;

ALTER TABLE attempt ENABLE ROW LEVEL SECURITY;

ALTER TABLE attestation ENABLE ROW LEVEL SECURITY;

ALTER TABLE bookmark ENABLE ROW LEVEL SECURITY;

CREATE POLICY by_hash ON login FOR SELECT USING ((hash = decode(NULLIF(current_setting('reverie.token_hash'::text, true), ''::text), 'hex'::text)));

CREATE POLICY by_hash ON token FOR SELECT USING ((hash = decode(NULLIF(current_setting('reverie.token_hash'::text, true), ''::text), 'hex'::text)));

ALTER TABLE card ENABLE ROW LEVEL SECURITY;

ALTER TABLE change ENABLE ROW LEVEL SECURITY;

ALTER TABLE chat ENABLE ROW LEVEL SECURITY;

ALTER TABLE contact ENABLE ROW LEVEL SECURITY;

ALTER TABLE dead_letter ENABLE ROW LEVEL SECURITY;

ALTER TABLE diary ENABLE ROW LEVEL SECURITY;

ALTER TABLE email ENABLE ROW LEVEL SECURITY;

ALTER TABLE embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE erased ENABLE ROW LEVEL SECURITY;

ALTER TABLE event ENABLE ROW LEVEL SECURITY;

ALTER TABLE evidence ENABLE ROW LEVEL SECURITY;

ALTER TABLE feed ENABLE ROW LEVEL SECURITY;

ALTER TABLE feed_item ENABLE ROW LEVEL SECURITY;

ALTER TABLE file ENABLE ROW LEVEL SECURITY;

CREATE POLICY first ON users FOR INSERT WITH CHECK ((current_setting('reverie.system'::text, true) = 'on'::text));

ALTER TABLE fresh ENABLE ROW LEVEL SECURITY;

ALTER TABLE graph ENABLE ROW LEVEL SECURITY;

ALTER TABLE health ENABLE ROW LEVEL SECURITY;

ALTER TABLE heat ENABLE ROW LEVEL SECURITY;

ALTER TABLE imported ENABLE ROW LEVEL SECURITY;

ALTER TABLE imported_file ENABLE ROW LEVEL SECURITY;

ALTER TABLE ingestion ENABLE ROW LEVEL SECURITY;

ALTER TABLE ingestion_file ENABLE ROW LEVEL SECURITY;

ALTER TABLE link ENABLE ROW LEVEL SECURITY;

ALTER TABLE login ENABLE ROW LEVEL SECURITY;

ALTER TABLE merge ENABLE ROW LEVEL SECURITY;

ALTER TABLE model ENABLE ROW LEVEL SECURITY;

ALTER TABLE node ENABLE ROW LEVEL SECURITY;

ALTER TABLE note ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner ON agent USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON alias USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON apart USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON attempt USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON attestation USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON bookmark USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON card USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON change USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON chat USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON contact USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON dead_letter USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON diary USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON email USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON embedding USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON erased USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON event USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON evidence USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON feed USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON feed_item USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON file USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON fresh USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON graph USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON health USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON heat USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON imported USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON imported_file USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON ingestion USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON ingestion_file USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON link USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON login USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON merge USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON model USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON node USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON note USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON passage USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON password USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON pii_routing_log USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON posting USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON pseudonym USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON pseudonym_key USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON record_version USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON run USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON segment USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON slot USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON stale USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON task USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON token USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON transaction USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON unembedded USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON unit USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON upload USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

CREATE POLICY owner ON users USING ((user_id = (NULLIF(current_setting('reverie.user_id'::text, true), ''::text))::uuid));

ALTER TABLE passage ENABLE ROW LEVEL SECURITY;

ALTER TABLE password ENABLE ROW LEVEL SECURITY;

ALTER TABLE pii_routing_log ENABLE ROW LEVEL SECURITY;

ALTER TABLE posting ENABLE ROW LEVEL SECURITY;

ALTER TABLE pseudonym ENABLE ROW LEVEL SECURITY;

ALTER TABLE pseudonym_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE record_version ENABLE ROW LEVEL SECURITY;

CREATE POLICY roll ON users FOR SELECT USING ((current_setting('reverie.system'::text, true) = 'on'::text));

ALTER TABLE run ENABLE ROW LEVEL SECURITY;

ALTER TABLE segment ENABLE ROW LEVEL SECURITY;

ALTER TABLE slot ENABLE ROW LEVEL SECURITY;

ALTER TABLE stale ENABLE ROW LEVEL SECURITY;

ALTER TABLE task ENABLE ROW LEVEL SECURITY;

ALTER TABLE token ENABLE ROW LEVEL SECURITY;

ALTER TABLE transaction ENABLE ROW LEVEL SECURITY;

ALTER TABLE unembedded ENABLE ROW LEVEL SECURITY;

ALTER TABLE unit ENABLE ROW LEVEL SECURITY;

ALTER TABLE upload ENABLE ROW LEVEL SECURITY;

ALTER TABLE users ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA public TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE agent TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE alias TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE apart TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE attempt TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE attestation TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE bookmark TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE card TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE change TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE chat TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE contact TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE dead_letter TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE diary TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE email TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE embedding TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE erased TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE event TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE evidence TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE feed TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE feed_item TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE file TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fresh TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE graph TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE health TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE heat TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE imported TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE imported_file TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ingestion TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ingestion_file TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE link TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE login TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE merge TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE model TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE node TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE note TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE passage TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE password TO reverie_app;

GRANT SELECT,INSERT,UPDATE ON TABLE pii_routing_log TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE posting TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pseudonym TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE pseudonym_key TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE record_version TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE run TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE segment TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE slot TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE stale TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE task TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE token TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE transaction TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE unembedded TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE unit TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE upload TO reverie_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE users TO reverie_app;
