"""Who asks: users, tokens, callers."""
