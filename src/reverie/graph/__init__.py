"""What the records are about: people, concepts and entities, and the links between
them.
"""
