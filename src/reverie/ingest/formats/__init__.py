"""Parsers of file formats that become records: mail, calendars, contacts, notes,
tables, feeds, bookmarks, chats.
"""
