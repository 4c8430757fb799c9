-- Pseudonyms: which token stands for which value outside this machine. The key is a file of the home, never here.

-- `digest` is keyed and finds a value; `value` is encrypted and bound to user, scope and token. The scope is 'user' or
-- 'conversation:' and its id. No two values share a token, and no value has two: the database itself refuses.
CREATE TABLE pseudonym (
    user_id uuid NOT NULL REFERENCES users,
    scope text NOT NULL,
    kind text NOT NULL CHECK (kind <> ''),
    digest bytea NOT NULL,
    token text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, scope, kind, digest),
    UNIQUE (user_id, scope, token)
);

-- Which key they were made with, so that another one is told before anything is written with it.
CREATE TABLE pseudonym_key (
    user_id uuid NOT NULL REFERENCES users,
    id bytea NOT NULL,
    PRIMARY KEY (user_id)
);

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['pseudonym', 'pseudonym_key'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;
