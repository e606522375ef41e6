"""What this process counts, for whoever watches over the service."""

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # nobody asks when a count began

REFUSED = Counter(
    "deemster_refused", "Requests that were refused, by the reason that was told", ["reason"]
)
CACHE = Counter(
    "deemster_cache", "Answers looked for in the cache, by how that went", ["kind", "outcome"]
)
SHARED_CACHE = Counter(
    "deemster_shared_cache",
    "What was not in this process, looked for in Redis, by how that went",
    ["kind", "outcome"],
)
REQUESTS = Histogram(
    "deemster_request_seconds",
    "How long requests took until their answer began",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30),
)
STREAMS = Gauge("deemster_event_streams", "Clients that listen to events now")
WEBHOOKS = Counter(
    "deemster_webhooks", "Attempts to deliver webhooks, by what became of them", ["outcome"]
)
