"""The REST API over HTTP, for agents and the owner's pages; FastAPI is only here."""
