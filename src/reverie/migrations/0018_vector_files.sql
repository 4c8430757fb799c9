-- The vectors of a user and model in a file that every process maps (docs/decisions/0028): which file it is, and the
-- vectors that are kept since it was made. Both can be made again from `embedding`.
CREATE TABLE vector_file (
    user_id uuid NOT NULL REFERENCES users,
    model text NOT NULL,
    id uuid NOT NULL,
    vectors bigint NOT NULL,
    PRIMARY KEY (user_id, model)
);
CREATE TABLE fresh_vector (
    user_id uuid NOT NULL REFERENCES users,
    model text NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (user_id, model, hash)
);
-- The owner of the tables need not be a superuser, and sees no rows of theirs otherwise.
ALTER TABLE embedding NO FORCE ROW LEVEL SECURITY;
INSERT INTO fresh_vector SELECT user_id, model, hash FROM embedding;
ALTER TABLE embedding FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['vector_file', 'fresh_vector'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;
