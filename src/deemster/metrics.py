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

WAIT_BUCKETS_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
JOB_LABELS = ["queue", "language"]
QUEUE_WAIT = Histogram(
    "deemster_queue_wait_seconds",
    "Time from a submission or execution until it starts; of a stage, since the verdict",
    JOB_LABELS,
    buckets=WAIT_BUCKETS_S,
)
RUN_TIME = Histogram(
    "deemster_run_seconds",
    "Time from the start of a job until its result is stored",
    JOB_LABELS,
    buckets=WAIT_BUCKETS_S,
)
TIME_TO_VERDICT = Histogram(
    "deemster_time_to_verdict_seconds",
    "Time from a submission until its verdict is stored, with all retries",
    JOB_LABELS,
    buckets=WAIT_BUCKETS_S,
)
VERDICTS = Counter(
    "deemster_verdicts", "Verdicts, by verdict and language", ["verdict", "language"]
)
RETRIES = Counter("deemster_job_retries", "Jobs that failed and are tried again", ["task"])
FAILED_JOBS = Counter("deemster_failed_jobs", "Jobs that failed for good", ["task"])
STALLED_JOBS = Counter(
    "deemster_stalled_jobs", "Jobs whose worker stopped sending heartbeats", ["task"]
)
EXPIRED_LOCKS = Counter(
    "deemster_expired_job_locks", "Jobs whose lock expired in the queue store", ["queue"]
)
SENT_JOBS = Counter("deemster_sent_jobs", "Jobs that the relay sent to the queue", ["task"])
LOST_JOBS = Counter("deemster_lost_jobs", "Jobs that the queue lost and that were sent again")
