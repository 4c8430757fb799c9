"""Hybrid search: retrievers, rank fusion, and what a query says beside its words."""
