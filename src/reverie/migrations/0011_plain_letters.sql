-- Letters that do not decompose (Ł, Ø, Đ, ı, Æ, Œ, Þ) are looked up as plain ones from now on: names that nodes are
-- found by are kept so, and the words of records are written anew once, by the index slot.

-- The rows of everybody: whoever owns the tables is no superuser.
ALTER TABLE alias NO FORCE ROW LEVEL SECURITY;
ALTER TABLE passage NO FORCE ROW LEVEL SECURITY;
ALTER TABLE fresh NO FORCE ROW LEVEL SECURITY;

INSERT INTO alias (user_id, alias, node_id, kind)
SELECT user_id, plain, node_id, kind
FROM alias CROSS JOIN LATERAL (
    SELECT translate(
        replace(replace(replace(alias, 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        'ıȷðŋĸəǝɛɔøđħłŧƀƃƈƌƒƙƥƫƭƴƶǥȥȼɇɉɍɏɓɗɠɦɨɫɭɱɳʂʈʋʐʠ',
        'ijdnkeeeoodhltbbcdfkpttyzgzcejrybdghillmnstvzq'
    ) AS plain
) AS folded
WHERE kind = 'name' AND plain <> alias
ON CONFLICT DO NOTHING;
DELETE FROM alias WHERE kind = 'name' AND alias ~ '[ıȷðŋĸəǝɛɔøđħłŧƀƃƈƌƒƙƥƫƭƴƶǥȥȼɇɉɍɏɓɗɠɦɨɫɭɱɳʂʈʋʐʠæœþ]';

-- A passage without its terms is one of an older form: the slot `index` rebuilds what its owner keeps.
UPDATE passage SET terms = NULL
WHERE (user_id, id) IN (SELECT user_id, min(id) FROM passage GROUP BY user_id);
DELETE FROM fresh USING passage
WHERE passage.user_id = fresh.user_id AND passage.id = fresh.passage_id AND passage.terms IS NULL;

ALTER TABLE fresh FORCE ROW LEVEL SECURITY;
ALTER TABLE passage FORCE ROW LEVEL SECURITY;
ALTER TABLE alias FORCE ROW LEVEL SECURITY;
