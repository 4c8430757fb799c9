"""Entity and relation extraction: from what a record says to nodes and links, by rules
or by a model.
"""
