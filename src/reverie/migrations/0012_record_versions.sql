-- What an update replaced: the columns that it changed, with the values they had, as JSON. `seq` is its row in the change
-- log, which says who, when and which columns. Newest first, they lead from a record as it is to what it was.
CREATE TABLE record_version (
    user_id uuid NOT NULL REFERENCES users,
    seq bigint NOT NULL,
    record_id uuid NOT NULL,
    replaced jsonb NOT NULL,
    PRIMARY KEY (user_id, seq),
    FOREIGN KEY (user_id, seq) REFERENCES change (user_id, seq) ON DELETE CASCADE
);
CREATE INDEX record_version_record ON record_version (user_id, record_id, seq);

ALTER TABLE record_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE record_version FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON record_version USING (user_id = nullif(current_setting('reverie.user_id', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON record_version TO reverie_app;

-- What makes an imported thing this one and no other (of a mail: who wrote what, and when): a second mention of its key
-- with another content is another thing. NULL: imported before this was kept.
ALTER TABLE imported ADD COLUMN content bytea;
-- A person is found by name, when another source tells of them.
CREATE INDEX contact_name ON contact (user_id, lower(display_name));
