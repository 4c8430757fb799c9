"""What Reverie asks of the world outside for its owner: pages and feeds, and only from
public addresses.
"""
