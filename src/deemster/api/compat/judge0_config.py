"""Judge0's configuration as its clients read it: the limits, and which features are offered."""

from typing import Any

from deemster.api.compat.judge0_archive import EXTRACTED_KB
from deemster.api.compat.judge0_request import numbers
from deemster.domain.execution import ExecutionLimits
from deemster.pipeline.deliver.judge0_format import CALLBACK_TIMEOUT_S
from deemster.settings import Settings

MAX_IN_BATCH = 20


def config_info(most: ExecutionLimits, settings: Settings) -> dict[str, Any]:
    """All keys of Judge0 v1.13.1; its clients fail if one is missing."""
    limits = numbers(most)
    bounds: dict[str, Any] = {}
    for name, each in limits.items():
        bounds[name] = each.default
        bounds[f"max_{name}"] = each.most
    return {
        **bounds,
        "maintenance_mode": False,
        "enable_wait_result": True,
        "enable_compiler_options": True,
        "allowed_languages_for_compile_options": [],
        "enable_command_line_arguments": True,
        "enable_submission_delete": True,
        "max_queue_size": settings.queue_high,
        "enable_per_process_and_thread_time_limit": False,
        "allow_enable_per_process_and_thread_time_limit": False,
        "enable_per_process_and_thread_memory_limit": False,
        "allow_enable_per_process_and_thread_memory_limit": False,
        "redirect_stderr_to_stdout": False,
        "enable_network": False,
        "allow_enable_network": False,
        "enable_callbacks": True,
        "callbacks_max_tries": settings.webhook_attempts,
        "callbacks_timeout": min(settings.webhook_timeout_s, CALLBACK_TIMEOUT_S),
        "enable_additional_files": True,
        "max_extract_size": EXTRACTED_KB,
        "enable_batched_submissions": True,
        "max_submission_batch_size": MAX_IN_BATCH,
        "submission_cache_duration": 0,
        "use_docs_as_homepage": False,
    }
