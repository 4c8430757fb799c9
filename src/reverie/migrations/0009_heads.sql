-- What stands above a passage: headings, the name of a sheet and its columns. Search reads it; nobody is shown it.
ALTER TABLE passage ADD COLUMN head text NOT NULL DEFAULT '';

-- Notes with headings get passages by section: the worker writes again what has no terms.
ALTER TABLE passage NO FORCE ROW LEVEL SECURITY;
ALTER TABLE note NO FORCE ROW LEVEL SECURITY;
ALTER TABLE fresh NO FORCE ROW LEVEL SECURITY;
UPDATE passage SET terms = NULL FROM note
WHERE passage.user_id = note.user_id AND passage.record_id = note.id AND passage.ordinal = 1
  AND note.format = 'markdown' AND note.deleted_at IS NULL AND note.content ~ '(^|\n) {0,3}#{1,3}[ \t]+[^\n]';
DELETE FROM fresh USING passage
WHERE passage.user_id = fresh.user_id AND passage.id = fresh.passage_id AND passage.terms IS NULL;
ALTER TABLE fresh FORCE ROW LEVEL SECURITY;
ALTER TABLE note FORCE ROW LEVEL SECURITY;
ALTER TABLE passage FORCE ROW LEVEL SECURITY;
