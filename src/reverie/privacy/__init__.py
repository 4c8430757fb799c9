"""What may leave this machine: finding personal values, how sensitive a text is,
pseudonyms, routing.
"""
