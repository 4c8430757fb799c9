"""Chat over the memory (RAG): answers from what is kept, with their sources."""
