"""Outbound requests behind an SSRF guard: pages and feeds of public addresses."""
