"""The database schema (row-level security policies, indexes) as numbered SQL files, and
the runner that applies them.
"""
