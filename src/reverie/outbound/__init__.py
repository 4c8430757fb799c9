"""Outbound requests behind an SSRF guard: pages and feeds, from public addresses only."""
