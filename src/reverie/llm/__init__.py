"""The one way to a language, embedding or reranking model: gateway, embedding, chat,
agents.
"""
