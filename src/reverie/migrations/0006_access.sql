-- Who asks: the household's people with their passwords and logins, the agents with their scopes, who minted which token.

ALTER TABLE users ADD COLUMN role text NOT NULL DEFAULT 'member' CHECK (role IN ('owner', 'member'));
-- The oldest user is the owner. The role that owns the tables need not be a superuser, and sees no rows otherwise.
ALTER TABLE users NO FORCE ROW LEVEL SECURITY;
UPDATE users SET role = 'owner' WHERE user_id = (SELECT user_id FROM users ORDER BY created_at, user_id LIMIT 1);
ALTER TABLE users FORCE ROW LEVEL SECURITY;

-- What a token minted ends with it.
ALTER TABLE token
    ADD COLUMN minted_by uuid,
    ADD FOREIGN KEY (user_id, minted_by) REFERENCES token (user_id, id);
CREATE INDEX token_minted_by ON token (user_id, minted_by);

CREATE TABLE password (
    user_id uuid NOT NULL REFERENCES users,
    hash text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id)
);

CREATE TABLE login (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL DEFAULT uuidv7(),
    hash bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (user_id, id)
);
CREATE INDEX login_hash ON login (hash);

-- Attempts to log in, by the SHA-256 of the name that was given, whether or not somebody has it. They belong to the owner.
CREATE TABLE attempt (
    user_id uuid NOT NULL REFERENCES users,
    who bytea NOT NULL,
    count int NOT NULL,
    since timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, who)
);

-- What its person has changed of an agent; the others are as access/agents.py has them.
CREATE TABLE agent (
    user_id uuid NOT NULL REFERENCES users,
    name text NOT NULL,
    about text NOT NULL,
    scopes text[] NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, name)
);

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['password', 'login', 'attempt', 'agent'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;

-- A login is found by its hash alone, as a token is.
CREATE POLICY by_hash ON login FOR SELECT
    USING (hash = decode(nullif(current_setting('reverie.token_hash', true), ''), 'hex'));
