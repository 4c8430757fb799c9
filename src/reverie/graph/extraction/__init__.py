"""Entity and relation extraction: records to nodes and links, by rules or a model."""
