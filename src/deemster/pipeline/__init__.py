"""Everything between a request and its webhook: one package for each step.

Only `work` imports the other packages, and `outbox` the producer of `queue`.
"""
