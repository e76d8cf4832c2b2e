"""GPUs as they are asked for."""

from __future__ import annotations

import pytest

from clusters.clients.slurmrest.models import GpuRequest
from jobs.parsing.gpus import parse_gpus, show_gpus
from jobs.parsing.refusal import Refusal
from tests.cases import case


@case("U20")
@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", None),
        ("0", None),
        ("2", GpuRequest(count=2)),
        ("a100:2", GpuRequest(count=2, model="a100")),
        ("gpu:a100:2", GpuRequest(count=2, model="a100")),
        ("gpu:8", GpuRequest(count=8)),
    ],
)
def test_numbers_and_models_are_read(text: str, request_: GpuRequest | None) -> None:
    assert parse_gpus(text) == request_


@pytest.mark.parametrize(
    "text", ["two", "-1", "1.5", "a100", "gpu:", "a:b:2", "5000", "gpu:a100:2,gpu:h100:2"]
)
def test_what_is_no_number_of_gpus_is_refused(text: str) -> None:
    with pytest.raises(Refusal):
        parse_gpus(text)


def test_requests_are_shown_in_words() -> None:
    assert show_gpus(GpuRequest(count=2)) == "2 per node"
    assert show_gpus(GpuRequest(count=4, model="a100", per="job")) == "4 x a100 in all"
    assert show_gpus(None) == ""
