"""Word lists of English, Spanish and German as data: months, weekdays, function words,
nicknames.
"""
