"""The table of options: complete, consistent with what is sent, and with its page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

from clusters.clients.slurmrest.dialects.submit import CARRIED, SHARED
from clusters.clients.slurmrest.models import JobSpec
from jobs.parsing.options import OPTIONS, Option
from jobs.parsing.options.page import VERSIONS, keys_of, render
from jobs.services.labels import LABELS

SENT = [option for option in OPTIONS if option.field]
WORKED_OUT = {"min_cpus", "min_nodes", "tasks_by_gpus"}  # by the client from others; no option sets them
FORM_ONLY = {"gpus"}
OF_THE_ENVIRONMENT = {"export", "get_user_env", "environment", "hint", "resources", "requeue_expedited"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_each_option_is_sent_or_refused_or_noted_and_says_so(option: Option) -> None:
    assert [bool(option.field), bool(option.refused), bool(option.ignored)].count(True) == 1
    assert bool(option.text) == bool(option.field)
    assert (option.reader is not None) == bool(option.field)
    assert option.takes != "value" or option.example


def test_names_and_letters_are_each_there_once() -> None:
    assert max(Counter(option.name for option in OPTIONS).values()) == 1
    assert max(Counter(option.short for option in OPTIONS if option.short).values()) == 1


@pytest.mark.parametrize("option", SENT, ids=lambda option: option.name)
def test_an_option_that_is_sent_has_a_key_in_some_version(option: Option) -> None:
    keys = {version: keys_of(option, version) for version in VERSIONS}
    assert any(keys.values())
    assert all("argv" not in keys[version] for version in VERSIONS)
    assert "batch_features" not in keys["v0.0.38"]  # both kill slurmrestd of Slurm 22.05


def test_each_field_of_a_request_is_set_by_an_option_and_has_a_label() -> None:
    fields = set(JobSpec.__struct_fields__)
    told = {name for option in SENT for name in option.fields}
    assert told - OF_THE_ENVIRONMENT <= fields
    assert fields - told == WORKED_OUT | FORM_ONLY
    assert set(LABELS) == fields
    assert set(CARRIED) | set(SHARED) <= fields


def test_the_page_is_as_the_table_says() -> None:
    page = Path(settings.BASE_DIR) / "docs" / "sbatch.md"
    assert page.read_text(encoding="utf-8") == render(), "Write it anew: python manage.py sbatch_page"
