"""Changes the state of submissions and executions: start, settle, retry, rescue, cancel,
rejudge, dead letters; each change fails if another process was first.
"""
