"""The shape of the database, as numbered SQL files, and the runner that applies them."""
