"""Celery's tasks are hints: they carry ids and nothing else."""

from __future__ import annotations

import inspect
import typing
import uuid

from portal.celery import app

SIMPLE = {str, int, uuid.UUID}


def ours() -> dict[str, typing.Any]:
    """Tasks of our packages by name."""
    app.loader.import_default_modules()
    return {name: task for name, task in app.tasks.items() if not name.startswith("celery.")}


def test_tasks_take_ids_only() -> None:
    tasks = ours()
    assert "clusters.reconcile" in tasks
    for name, task in tasks.items():
        hints = typing.get_type_hints(task.run)
        for parameter in inspect.signature(task.run).parameters.values():
            assert parameter.name.endswith(("_id", "_pk")), f"{name} takes {parameter.name}"
            assert hints[parameter.name] in SIMPLE, f"{name}: {parameter.name} is no id"


def test_tasks_keep_no_results_and_are_not_retried() -> None:
    for name, task in ours().items():
        assert task.ignore_result, name
        assert not task.acks_late, name
        assert not getattr(task, "autoretry_for", ()), name


def test_what_beat_sends_exists_and_goes_stale() -> None:
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in ours()
        assert entry["options"]["expires"] >= entry["schedule"]
