"""Defines the Prometheus metrics that a process counts itself."""

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

disable_created_metrics()  # type: ignore[no-untyped-call]  # timestamps that nobody reads

REFUSED = Counter("deemster_refused", "Refused requests, by the code of the error", ["reason"])
CACHE = Counter(
    "deemster_cache",
    "Look-ups in this process's cache, by kind and outcome",
    ["kind", "outcome"],
)
SHARED_CACHE = Counter(
    "deemster_shared_cache",
    "Look-ups in the shared cache in Redis, by kind and outcome",
    ["kind", "outcome"],
)
REQUESTS = Histogram(
    "deemster_request_seconds",
    "Time from a request until its response starts, in seconds",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30),
)
STREAMS = Gauge("deemster_event_streams", "Event streams that are open now")
WEBHOOKS = Counter("deemster_webhooks", "Attempts to deliver webhooks, by outcome", ["outcome"])
