"""Authentication and authorisation: people, logins, tokens, agents, operations."""
