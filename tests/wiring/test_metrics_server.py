"""O1: roles without an API serve their metrics on ports of their own."""

import httpx
import pytest

from deemster.metrics import STALLED_JOBS
from deemster.settings import load_settings
from deemster.wiring.address import find_free
from deemster.wiring.metrics_server import PORT_OFFSETS, metrics_served


@pytest.mark.parametrize("role", PORT_OFFSETS)
def test_a_role_serves_its_metrics(role: str) -> None:
    STALLED_JOBS.labels("submission:run")
    port = find_free("127.0.0.1", 0).port
    settings = load_settings(metrics_port=port - PORT_OFFSETS[role])
    with metrics_served(settings, role):
        answer = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, verify=False)
        assert answer.status_code == 200
        assert "deemster_stalled_jobs_total" in answer.text
        with metrics_served(settings, role):
            pass  # a second worker has no port, and works nevertheless
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, verify=False)


def test_without_the_setting_no_port_is_used() -> None:
    with metrics_served(load_settings(), "worker"):
        pass
