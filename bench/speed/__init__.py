"""The parts of bench/search_speed.py."""
