-- Texts that wait for their vector, in the order in which they get it: what was just written, what else is new, the rest.
-- `seq`: the change that brought the text, which is put aside if the model refuses it. NULL: no change tells of it.
CREATE TABLE unembedded (
    user_id uuid NOT NULL REFERENCES users,
    hash bytea NOT NULL,
    seq bigint,
    level smallint NOT NULL CHECK (level BETWEEN 0 AND 2),
    heat double precision NOT NULL,
    at timestamptz NOT NULL,
    length int NOT NULL,
    PRIMARY KEY (user_id, hash)
);
CREATE INDEX unembedded_order ON unembedded (user_id, level, heat DESC, at DESC, hash);
ALTER TABLE unembedded ENABLE ROW LEVEL SECURITY;
ALTER TABLE unembedded FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON unembedded USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON unembedded TO reverie_app;

-- How fast vectors were made lately: characters in so many seconds of work.
ALTER TABLE model
    ADD COLUMN pace_letters double precision NOT NULL DEFAULT 0,
    ADD COLUMN pace_seconds double precision NOT NULL DEFAULT 0;
