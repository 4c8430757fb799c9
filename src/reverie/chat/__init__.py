"""Answers from what is kept, with their sources."""
