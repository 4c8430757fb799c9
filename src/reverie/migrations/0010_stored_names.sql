-- Names that meant two things: two slots get the name of what they do, and their cursors and letters move with it.
-- A letter is a dead letter, tried again from a queue: its table says so.
ALTER TABLE letter RENAME TO dead_letter;

-- Primary key, foreign key and NOT NULL constraints are called after the table, like everywhere else.
DO $$
DECLARE
    old text;
BEGIN
    FOR old IN SELECT conname FROM pg_constraint WHERE conrelid = 'dead_letter'::regclass AND conname LIKE 'letter\_%' LOOP
        EXECUTE format('ALTER TABLE dead_letter RENAME CONSTRAINT %I TO %I', old, 'dead_' || old);
    END LOOP;
END
$$;

-- The rows of everybody: whoever owns the tables is no superuser.
ALTER TABLE slot NO FORCE ROW LEVEL SECURITY;
ALTER TABLE dead_letter NO FORCE ROW LEVEL SECURITY;
UPDATE slot SET name = CASE name WHEN 'extraction' THEN 'rule_extraction' ELSE 'model_extraction' END
WHERE name IN ('extraction', 'ingestion');
UPDATE dead_letter SET slot = CASE slot WHEN 'extraction' THEN 'rule_extraction' ELSE 'model_extraction' END
WHERE slot IN ('extraction', 'ingestion');
ALTER TABLE dead_letter FORCE ROW LEVEL SECURITY;
ALTER TABLE slot FORCE ROW LEVEL SECURITY;
