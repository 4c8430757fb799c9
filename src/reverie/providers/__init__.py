"""Raw model clients, closed to all but llm."""
