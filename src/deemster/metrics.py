"""What this process counts, for whoever watches over the service."""

from prometheus_client import Counter, Gauge

REFUSED = Counter(
    "deemster_refused", "Requests that were refused, by the reason that was told", ["reason"]
)
CACHE = Counter(
    "deemster_cache", "Answers looked for in the cache, by how that went", ["kind", "outcome"]
)
STREAMS = Gauge("deemster_event_streams", "Clients that listen to events now")
