"""Who asks and what for: people, logins, tokens, agents, and the one table of
operations.
"""
