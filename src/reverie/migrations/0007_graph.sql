-- The graph: what the records are about (nodes), how it hangs together (links), and which record says so (evidence).

-- Whatever changes a user's graph moves this number: derived projections and lists compare it with theirs.
CREATE TABLE graph (
    user_id uuid NOT NULL REFERENCES users,
    version bigint NOT NULL,
    PRIMARY KEY (user_id)
);

-- `key` is made of name, kind and user and stays the same when a text is read again. A node that was deleted by hand
-- keeps its row, so that it is not made again; one that was merged keeps it, so that this can be undone.
CREATE TABLE node (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL DEFAULT uuidv7(),
    key text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('person', 'concept', 'entity', 'source', 'artifact')),
    name text NOT NULL CHECK (name <> ''),
    type text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    properties jsonb NOT NULL DEFAULT '{}',
    is_owner boolean NOT NULL DEFAULT false,
    created_by text NOT NULL CHECK (created_by IN ('user', 'model', 'system')),
    domain text,
    record_id uuid,
    links int NOT NULL DEFAULT 0,
    salience real NOT NULL DEFAULT 0,
    touched_at timestamptz NOT NULL DEFAULT now(),
    hash bytea,
    merged_into uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, key),
    FOREIGN KEY (user_id, merged_into) REFERENCES node (user_id, id) ON DELETE CASCADE
);
-- Of all nodes, not only of live ones: before the first statistics an index with IS NULL in its condition looks so small
-- that whatever asks for a few nodes by id reads all of them through it. The same goes for `link_from` and `link_to`.
CREATE INDEX node_kind ON node (user_id, kind, links DESC);
CREATE INDEX node_top ON node (user_id, links DESC, id) WHERE kind <> 'source';
CREATE INDEX node_record ON node (user_id, record_id) WHERE record_id IS NOT NULL;
CREATE INDEX node_hash ON node (user_id, hash) WHERE hash IS NOT NULL;
CREATE INDEX node_merged ON node (user_id, merged_into) WHERE merged_into IS NOT NULL;

-- By what a node is found: its names, normalised, and the addresses of a person. Equality on text may use an index
-- under row-level security; operators of arrays may not.
CREATE TABLE alias (
    user_id uuid NOT NULL REFERENCES users,
    alias text COLLATE "C" NOT NULL CHECK (alias <> ''),
    node_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('name', 'email')),
    PRIMARY KEY (user_id, alias, node_id),
    FOREIGN KEY (user_id, node_id) REFERENCES node (user_id, id) ON DELETE CASCADE
);
CREATE INDEX alias_node ON alias (user_id, node_id);

-- A fact holds from `valid_from` until `valid_to`; NULL is open. `told_end`: somebody said when it ended; without it, it
-- ended because another began. `hidden_by` is the merge that made it a double, of the link `double_of` if there is one.
CREATE TABLE link (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL DEFAULT uuidv7(),
    from_id uuid NOT NULL,
    to_id uuid NOT NULL,
    relation text NOT NULL,
    link_type text NOT NULL CHECK (link_type IN ('manual', 'extracted', 'inferred', 'structural')),
    confidence real NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    created_by text NOT NULL CHECK (created_by IN ('user', 'model', 'system')),
    properties jsonb NOT NULL DEFAULT '{}',
    valid_from timestamptz,
    valid_to timestamptz,
    told_end boolean NOT NULL DEFAULT false,
    heat real NOT NULL DEFAULT 0,
    warmed_at timestamptz,
    hidden_by uuid,
    double_of uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, from_id) REFERENCES node (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, to_id) REFERENCES node (user_id, id) ON DELETE CASCADE,
    CHECK (valid_to IS NULL OR valid_from IS NULL OR valid_to >= valid_from)
);
-- Said again, a fact is the same link.
CREATE UNIQUE INDEX link_once ON link (user_id, from_id, to_id, relation, valid_from) NULLS NOT DISTINCT
    WHERE hidden_by IS NULL;
CREATE INDEX link_from ON link (user_id, from_id);
CREATE INDEX link_to ON link (user_id, to_id);
CREATE INDEX link_hidden ON link (user_id, hidden_by) WHERE hidden_by IS NOT NULL;
CREATE INDEX link_double ON link (user_id, double_of) WHERE double_of IS NOT NULL;

-- Which record says so, and in which of its passages (by ordinal, as passages are made anew).
CREATE TABLE evidence (
    user_id uuid NOT NULL REFERENCES users,
    link_id uuid NOT NULL,
    record_id uuid NOT NULL,
    -- Rules and a model read the same record, each by itself.
    by text NOT NULL CHECK (by IN ('user', 'model', 'system')),
    ordinal int,
    -- The moment that the record says it of.
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, link_id, record_id, by),
    FOREIGN KEY (user_id, link_id) REFERENCES link (user_id, id) ON DELETE CASCADE
);
CREATE INDEX evidence_record ON evidence (user_id, record_id);

-- What a merge changed, so that it can be undone.
CREATE TABLE merge (
    user_id uuid NOT NULL REFERENCES users,
    id uuid NOT NULL DEFAULT uuidv7(),
    winner_id uuid NOT NULL,
    loser_id uuid NOT NULL,
    by text NOT NULL,
    changes jsonb NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    undone_at timestamptz,
    PRIMARY KEY (user_id, id),
    FOREIGN KEY (user_id, winner_id) REFERENCES node (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, loser_id) REFERENCES node (user_id, id) ON DELETE CASCADE
);
CREATE INDEX merge_winner ON merge (user_id, winner_id);
CREATE INDEX merge_loser ON merge (user_id, loser_id);

-- Two nodes that somebody has said are not the same.
CREATE TABLE apart (
    user_id uuid NOT NULL REFERENCES users,
    first_id uuid NOT NULL,
    second_id uuid NOT NULL,
    PRIMARY KEY (user_id, first_id, second_id),
    FOREIGN KEY (user_id, first_id) REFERENCES node (user_id, id) ON DELETE CASCADE,
    FOREIGN KEY (user_id, second_id) REFERENCES node (user_id, id) ON DELETE CASCADE
);

-- The keys of nodes that were erased for good: they do not come back, and nothing else of them is left.
CREATE TABLE erased (
    user_id uuid NOT NULL REFERENCES users,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (user_id, key)
);

DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['graph', 'node', 'alias', 'link', 'evidence', 'merge', 'apart', 'erased'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
        EXECUTE format(
            'CREATE POLICY owner ON %I USING (user_id = nullif(current_setting(''reverie.user_id'', true), '''')::uuid)', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO reverie_app', t);
    END LOOP;
END
$$;
