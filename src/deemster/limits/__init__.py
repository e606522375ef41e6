"""Rate limits by token buckets, in memory or in Redis."""
