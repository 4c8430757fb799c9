"""Privacy: PII detection, sensitivity classification, pseudonymisation and routing.

It decides what may leave this machine.
"""
