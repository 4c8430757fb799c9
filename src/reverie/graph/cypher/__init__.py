"""Cypher queries: parsed, checked, and run on a projection of one user's graph."""
