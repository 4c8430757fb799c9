-- A passage without a hash has no vector, and waits for none: what a mail quotes, and its signature.
ALTER TABLE passage ALTER COLUMN hash DROP NOT NULL;
