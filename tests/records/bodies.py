"""Realistic bodies of every domain in several languages, and one change of each, for
all the tests of the store.
"""

from collections.abc import Mapping
from typing import Any

Body = dict[str, Any]

BODIES: Mapping[str, tuple[Body, ...]] = {
    "note": (
        {
            "title": "Rezept: Linsensuppe",
            "content": "Zwei Zwiebeln würfeln.\n\nLinsen über Nacht einweichen, dann 40 Minuten köcheln lassen.",
            "tags": ["rezept", "küche"],
            "pinned": True,
        },
        {"content": "Preguntar a Lucía por las llaves del trastero.", "format": "text"},
        {
            "title": "读书笔记",
            "content": "《红楼梦》第三回：林黛玉进贾府。",
            "tags": ["书"],
            "custom": {"page": 12},
        },
    ),
    "event": (
        {
            "title": "Standup",
            "start": "2026-03-27T09:00:00+01:00",
            "end": "2026-03-27T09:15:00+01:00",
            "timezone": "Europe/Madrid",
            "location": "Discord",
            "recurrence": "RRULE:FREQ=DAILY;COUNT=5",
            "attendees": [{"name": "Ana López", "email": "ana@example.org"}],
            "reminders": [10],
        },
        {"title": "Cumpleaños de Mateo", "start": "2026-11-30", "calendar": "family"},
        {
            "title": "Flight SQ 378",
            "start": "2026-12-01T07:10:00+08:00",
            "description": "Gate opens 06:20",
        },
    ),
    "contact": (
        {
            "display_name": "José García Márquez",
            "emails": ["jose@example.org"],
            "phones": ["+34 612 345 678"],
            "company": "Palanca S.L.",
            "job_title": "Ingeniero",
            "birthday": "1980-02-29",
        },
        {
            "display_name": "Ordination Dr. Weiß",
            "address": "Hauptstraße 3, 1010 Wien",
            "notes": "Closed on Fridays",
        },
    ),
    "email": (
        {
            "subject": "Factura INV-2024-0017",
            "from": "Ana <ana@example.org>",
            "to": ["me@example.org"],
            "cc": ["boss@example.org"],
            "date": "2026-10-02T08:15:00Z",
            "folder": "INBOX",
            "attachments": [
                {"name": "factura.pdf", "mime": "application/pdf", "size": 48211}
            ],
            "body_text": "Adjunto la factura del alquiler de octubre.",
            "message_id": "<17@example.org>",
        },
        {"subject": "", "body_text": "no subject here", "read": True},
    ),
    "file": (
        {
            "name": "Mietvertrag.pdf",
            "mime": "application/pdf",
            "size": 120_304,
            "sha256": "ab" * 32,
            "path": "Wohnung/Mietvertrag.pdf",
            "text": "§3 Die Kaution beträgt drei Monatsmieten.",
            "category": "contracts",
        },
        {"name": "IMG_2041.jpg", "mime": "image/jpeg", "size": 3_145_728},
    ),
    "diary": (
        {
            "date": "2026-02-18",
            "mood": "😊",
            "content": "Long walk along the river; first almond blossom.",
        },
        {"date": "2026-02-19", "content": "Todo el día en casa con fiebre."},
    ),
    "bookmark": (
        {
            "url": "https://www.postgresql.org/docs/18/ddl-rowsecurity.html",
            "title": "Row security policies",
            "excerpt": "Policies that restrict which rows a role can see.",
            "tags": ["postgres"],
            "folder": "Work",
        },
        {"url": "not a url at all"},
    ),
    "task": (
        {
            "title": "Renew the passport",
            "description": "Two photos, the old one, 30 €.",
            "board": "Home",
            "column": "Doing",
            "due": "2026-12-24",
            "priority": "high",
            "labels": ["papers"],
            "checklist": [
                {"text": "photos", "done": True},
                {"text": "appointment", "done": False},
            ],
        },
        {"title": "Regar las plantas"},
    ),
    "feed": (
        {
            "title": "Planet PostgreSQL",
            "url": "https://planet.example/rss",
            "site_url": "https://planet.example",
        },
        {"url": "https://blog.example/feed", "description": "Un blog"},
    ),
    "feed_item": (
        {
            "title": "Skip scan arrives",
            "guid": "tag:planet.example,2026:1",
            "url": "https://planet.example/1",
            "author": "Peter",
            "published": "2026-09-25T10:00:00Z",
            "content": "PostgreSQL 18 can skip over the first column of an index.",
        },
        {"content": "Sin título", "read": True},
    ),
    "health": (
        {"kind": "weight", "value": 71.4, "unit": "kg", "at": "2026-11-01T06:30:00Z"},
        {
            "kind": "symptom",
            "text": "Kopfschmerzen seit dem Morgen",
            "at": "2026-11-02T09:00:00+01:00",
        },
    ),
    "transaction": (
        {
            "date": "2026-10-05",
            "amount": "-950.00",
            "counterparty": "Inmobiliaria Sol",
            "text": "Alquiler octubre",
        },
        {"date": "2026-10-06", "amount": "1234567890.12", "currency": "JPY"},
    ),
    "run": (
        {
            "title": "Refactor the importer",
            "agent": "claude-code",
            "machine": "laptop",
            "status": "failed",
            "started": "2026-11-20T12:00:00Z",
            "ended": "2026-11-20T12:40:00Z",
            "text": "The ledger keyed by path lost renamed files.",
        },
        {"title": "Weather", "agent": "main"},
    ),
    "chat": (
        {
            "title": "Trip to Kyoto",
            "started": "2026-04-01T10:00:00Z",
            "turns": [
                {
                    "id": "1",
                    "speaker": "me",
                    "at": "2026-04-01T10:00:00Z",
                    "text": "When do the cherries bloom?",
                },
                {
                    "id": "2",
                    "speaker": "assistant",
                    "text": "京都の桜は四月上旬が見頃です。",
                },
            ],
        },
        {"title": "Empty"},
    ),
}
"""At least two records a domain: one with everything, one with as little as it can
have.
"""

CHANGE: Mapping[str, tuple[Body, frozenset[str]]] = {
    "note": (
        {"title": "Linsensuppe", "archived": True},
        frozenset({"title", "archived"}),
    ),
    "event": (
        {"start": "2026-03-28T10:00:00+01:00", "end": "2026-03-28T10:30:00+01:00"},
        frozenset({"start", "end", "start_day", "end_day"}),
    ),
    "contact": ({"company": None, "phones": []}, frozenset({"company", "phones"})),
    "email": (
        {"read": True, "from": "Ana López <ana@example.org>"},
        frozenset({"read", "from"}),
    ),
    "file": ({"category": "home"}, frozenset({"category"})),
    "diary": ({"mood": "🌧", "content": "Rain."}, frozenset({"mood", "content"})),
    "bookmark": ({"folder": "Later"}, frozenset({"folder"})),
    "task": (
        {"column": "Done", "completed_at": "2026-11-27T18:00:00Z"},
        frozenset({"column", "completed_at"}),
    ),
    "feed": ({"description": "Nuevo"}, frozenset({"description"})),
    "feed_item": ({"read": True}, frozenset({"read"})),
    "health": ({"value": 71.9}, frozenset({"value"})),
    "transaction": ({"amount": "-955.5"}, frozenset({"amount"})),
    "run": ({"status": "done", "machine": None}, frozenset({"status", "machine"})),
    "chat": ({"title": "Kyoto in April"}, frozenset({"title"})),
}
"""A change of the first body of each domain, and the columns that it changes."""

SUMMARY: Mapping[str, str] = {
    "note": "Rezept: Linsensuppe",
    "event": "Standup 2026-03-27 09:00",
    "contact": "José García Márquez",
    "email": "Factura INV-2024-0017",
    "file": "Mietvertrag.pdf",
    "diary": "2026-02-18 Long walk along the river; first almond blossom.",
    "bookmark": "Row security policies",
    "task": "Renew the passport",
    "feed": "Planet PostgreSQL",
    "feed_item": "Skip scan arrives",
    "health": "weight 71.4 kg 2026-11-01",
    "transaction": "2026-10-05 -950.00 Inmobiliaria Sol",
    "run": "Refactor the importer",
    "chat": "Trip to Kyoto",
}
"""What the change log says of the first body of each domain."""

TEXT: Mapping[str, str] = {
    "note": "content",
    "event": "title",
    "contact": "display_name",
    "email": "subject",
    "file": "name",
    "diary": "content",
    "bookmark": "title",
    "task": "title",
    "feed": "title",
    "feed_item": "title",
    "health": "text",
    "transaction": "counterparty",
    "run": "title",
    "chat": "title",
}
"""A column of each domain whose words search finds."""
