"""What an agent may do, as one catalogue: used by the chat, the API and MCP."""
