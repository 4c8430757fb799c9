"""A sample life: ordinary export files, imported by ``make demo``.

Elena Ruiz Navarro, a translator who moves from Valencia to Bilbao in 2026, is
invented, and so are her family, friends, clients, doctors, landlords, addresses
and dog.  Phone numbers come from ranges nobody is meant to own and mail addresses from
the reserved example domains.  Nothing here describes a real person.

The files are what real programs write: an Obsidian vault (``vault/``), an
iCalendar file, vCards, an mbox, browser bookmarks, two CSV files, a ChatGPT
export (``chats/``) and an Atom feed (``feeds/``).  They are data: this module
holds no code.
"""
