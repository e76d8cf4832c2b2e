"""Checks what travels inside strings, where no API server looks."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

SCHEMA = Path(__file__).with_name("crds") / "vcluster" / "values.schema-v0.36.1.json"


@cache
def _validator() -> Any:
    # made once: a look at the schema itself takes longer than all values
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def check_vcluster_values(values: str | dict[str, Any]) -> dict[str, Any]:
    """The values as read. Raises jsonschema.ValidationError where the chart would not know one."""
    found = yaml.safe_load(values) if isinstance(values, str) else values
    _validator().validate(found)
    return dict(found)
