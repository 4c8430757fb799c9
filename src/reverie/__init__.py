"""Reverie: a personal memory that runs on its owner's machine."""

__version__ = "0.1.0"
