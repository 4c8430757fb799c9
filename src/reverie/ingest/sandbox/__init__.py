"""The sandbox: every file is read in a worker process of its own, with limits, and what
it sends is not trusted.
"""
