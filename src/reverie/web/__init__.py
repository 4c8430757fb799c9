"""The web: the API over HTTP, for agents and for the owner's own pages. The only place
that knows FastAPI.
"""
