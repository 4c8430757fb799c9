-- The index for large memories: packed lists of postings, and graphs of near vectors.

-- Lexical: each passage knows its own terms (64-bit keys with their weights); lists by term are packed from them in the
-- background, a segment at a time. What is not packed yet is `fresh`, and read as it is.
DROP TABLE posting;

ALTER TABLE passage ADD COLUMN terms bytea;
ALTER TABLE passage ALTER COLUMN terms SET STORAGE EXTERNAL;
-- Those from before, which the worker writes again.
CREATE INDEX passage_outdated ON passage (user_id) WHERE terms IS NULL;

-- What a search may be narrowed by, folded: names and addresses of who took part, a folder or board, a path.
ALTER TABLE card
    ADD COLUMN people text[] NOT NULL DEFAULT '{}',
    ADD COLUMN category text NOT NULL DEFAULT '',
    ADD COLUMN origin text NOT NULL DEFAULT '';

CREATE TABLE fresh (
    user_id uuid NOT NULL REFERENCES users,
    passage_id bigint NOT NULL,
    PRIMARY KEY (user_id, passage_id)
);

-- A segment never changes: its passages by position (8 bytes each, big-endian), until it is packed anew with others.
CREATE TABLE segment (
    user_id uuid NOT NULL REFERENCES users,
    id bigint GENERATED ALWAYS AS IDENTITY,
    size int NOT NULL,
    words bigint NOT NULL,
    passages bytea NOT NULL,
    PRIMARY KEY (user_id, id)
);
ALTER TABLE segment ALTER COLUMN passages SET STORAGE EXTERNAL;

-- `entries`: n times (position in the segment: 4 bytes, gain: 2 bytes). Part 0 of a long list holds its best entries.
CREATE TABLE posting (
    user_id uuid NOT NULL,
    segment bigint NOT NULL,
    term bigint NOT NULL,
    part smallint NOT NULL,
    n int NOT NULL,
    entries bytea NOT NULL,
    PRIMARY KEY (user_id, segment, term, part)
);
ALTER TABLE posting ALTER COLUMN entries SET STORAGE EXTERNAL;

-- Texts that a passage was dropped of: their vectors go, unless another passage has the same text.
CREATE TABLE stale (
    user_id uuid NOT NULL REFERENCES users,
    hash bytea NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Semantic: one graph a length of vector, since a graph holds vectors of one length. Other lengths are read in full.
ALTER TABLE embedding ADD COLUMN dimensions smallint;
-- The owner of the tables need not be a superuser, and sees no rows of theirs otherwise.
ALTER TABLE embedding NO FORCE ROW LEVEL SECURITY;
UPDATE embedding SET dimensions = vector_dims(vector);
ALTER TABLE embedding FORCE ROW LEVEL SECURITY;
ALTER TABLE embedding ALTER COLUMN dimensions SET NOT NULL;
DO $$
DECLARE
    d int;
BEGIN
    FOREACH d IN ARRAY ARRAY[256, 384, 512, 768, 1024, 1536, 2048, 3072] LOOP
        EXECUTE format('CREATE INDEX embedding_%1$s ON embedding USING hnsw ((vector::halfvec(%1$s)) halfvec_ip_ops)'
            || ' WITH (m = 16, ef_construction = 128) WHERE dimensions = %1$s', d);
    END LOOP;
END
$$;

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['fresh', 'segment', 'posting', 'stale'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;
