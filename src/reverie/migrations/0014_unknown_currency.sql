-- A statement that names no currency has none.
ALTER TABLE transaction ALTER COLUMN currency DROP NOT NULL;
