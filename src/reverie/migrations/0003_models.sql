-- The models that made a user's vectors: how many vectors each has, when it was chosen, what its similarities mean.

CREATE TABLE model (
    user_id uuid NOT NULL REFERENCES users,
    name text NOT NULL,
    dimensions int,
    vectors bigint NOT NULL DEFAULT 0,
    chosen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Measured, or else all NULL: see providers/calibration.py. `means` has a row a language.
    floor double precision,
    scale double precision,
    spread double precision,
    means real[],
    measured_at timestamptz,
    PRIMARY KEY (user_id, name)
);

-- What is there already. The owner of the tables need not be a superuser, and sees no rows of theirs otherwise.
ALTER TABLE embedding NO FORCE ROW LEVEL SECURITY;
INSERT INTO model (user_id, name, dimensions, vectors)
SELECT user_id, model, max(vector_dims(vector)), count(*) FROM embedding GROUP BY user_id, model;
ALTER TABLE embedding FORCE ROW LEVEL SECURITY;

ALTER TABLE model ENABLE ROW LEVEL SECURITY;
ALTER TABLE model FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON model USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON model TO reverie_app;
