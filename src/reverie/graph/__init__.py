"""The graph: people, concepts, entities and sources as nodes, and the links of them."""
