"""Labelled sets for bench/search_quality.py: how each is read, kept by the product,
ranked and measured.
"""
