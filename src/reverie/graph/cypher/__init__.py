"""Cypher: a parser of read-only queries, and a query engine on a projection."""
