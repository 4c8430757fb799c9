"""Temporal expressions (dates) in a query: time words are parsed and resolved to days."""
