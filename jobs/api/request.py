"""A job as a program asks for it, turned into the texts that the form would hold."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from jobs.services.drafts import FROM_API, Typed
from portal.lib.errors import BadInput
from tenants.api.views import refuse_unknown

# names of the API: names of a request to Slurm, whose texts are read as the form's are
TYPED = {"memory": "memory_mib", "memory_per_cpu": "memory_per_cpu_mib", "time_limit": "time_limit_minutes"}
LONGEST_SCRIPT = 1024 * 1024
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _text(help_text: str, longest: int = 1000) -> serializers.CharField:
    return serializers.CharField(
        required=False, allow_blank=True, max_length=longest, trim_whitespace=False, help_text=help_text
    )


class _Alike(serializers.ListSerializer[Any]):
    """Checks what is written exactly as the one before it no second time."""

    _last: tuple[str, Any] = ("", None)  # its text, and what was found

    def to_internal_value(self, data: Any) -> Any:
        """By a copy for this list alone: all requests of a process share the reader of their bodies."""
        return super(_Alike, copy.copy(self)).to_internal_value(data)

    def run_child_validation(self, data: Any) -> Any:
        """What was found of the one before, or of this one."""
        text = json.dumps(data)
        if text != self._last[0]:
            self._last = text, super().run_child_validation(data)
        return self._last[1]


class Strict(serializers.Serializer[Any]):
    """A body of which nothing is dropped without a word."""

    def to_internal_value(self, data: Any) -> Any:
        """As always, but for names that there are not."""
        refuse_unknown(self, data)
        return super().to_internal_value(data)


class JobIn(Strict):
    """A job. What is absent or empty comes from the script's #SBATCH lines, else from Slurm's defaults."""

    wrap = serializers.CharField(
        max_length=LONGEST_SCRIPT,
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="One command in the place of the script, as by sbatch --wrap.",
    )
    script = serializers.CharField(
        max_length=LONGEST_SCRIPT,
        required=False,
        trim_whitespace=False,
        help_text="Begins with #!; at most 1 MiB. Its #SBATCH lines are read as by sbatch.",
    )
    name = _text("At most 255 characters.")
    partition = _text("Which nodes.")
    nodes = serializers.IntegerField(required=False, min_value=1, max_value=10_000)
    tasks = serializers.IntegerField(required=False, min_value=1, max_value=1_000_000)
    cpus_per_task = serializers.IntegerField(required=False, min_value=1, max_value=4096)
    gpus = _text("On each node: a number, or model and number (a100:2).", 200)
    memory = _text("Per node: 16G, 1.5T, or MiB (512); 0 is all of the node.", 200)
    memory_per_cpu = _text("Instead of memory per node.", 200)
    time_limit = _text("Minutes, h:mm:ss or days-hours.", 200)
    array = _text("Such as 0-15, 1-10%2 or 1,3,5-7.")
    working_directory = _text("A full path; absent: your home in the cluster.")
    stdout = _text("Below the working directory, or a full path.")
    stderr = _text("Absent: the same file as the output.")
    dependency = _text("Such as afterok:4711.")
    account = _text("Slurm account.")
    qos = _text("QOS.")
    reservation = _text("Reservation.")
    comment = _text("At most 900 characters.")
    environment = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=131_071, trim_whitespace=False),
        required=False,
        help_text="At most 200 variables; only you can see the values later.",
    )

    insist = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Send it though accounting, as last read, speaks against account, QOS or a limit.",
    )

    class Meta:
        """Of lists of jobs."""

        list_serializer_class = _Alike

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A script or a command, not both."""
        if bool(asked.get("script")) == bool(asked.get("wrap")):
            raise serializers.ValidationError({"script": _("Send either a script or, as wrap, one command.")})
        return asked

    def validate_environment(self, values: dict[str, str]) -> dict[str, str]:
        """Names are names, and no value breaks a line: one variable never becomes two."""
        for name, value in values.items():
            if _VARIABLE.fullmatch(name) is None:
                raise serializers.ValidationError(
                    _("%(name)s: a name begins with a letter or _ and holds letters, digits and _ only.")
                    % {"name": repr(name[:60])}
                )
            if "\n" in value or "\r" in value:
                raise serializers.ValidationError(
                    _("%(name)s: a value cannot hold a line break.") % {"name": name}
                )
        return values


def typed(asked: Mapping[str, Any]) -> Typed:
    """The texts of the form that says the same."""
    fields = {
        TYPED.get(name, name): str(value)
        for name, value in asked.items()
        if name not in {"script", "wrap", "environment", "insist"}
    }
    environment = "\n".join(f"{name}={value}" for name, value in asked.get("environment", {}).items())
    return Typed(
        fields=fields,
        script=asked.get("script", ""),
        wrap=asked.get("wrap", ""),
        environment=environment,
        given_by=FROM_API,
    )


@contextmanager
def named_as_sent() -> Iterator[None]:
    """Refusals under the names of the API's own fields."""
    try:
        yield
    except BadInput as error:
        error.fields = as_sent(error.fields)
        raise


def as_sent(fields: Mapping[str, str]) -> dict[str, str]:
    """The same under the names of the API; of one of several jobs with its number before it ("3.nodes")."""
    names = {ours: theirs for theirs, ours in TYPED.items()}
    return {
        f"{number}{dot}{names.get(name, name)}": said
        for field, said in fields.items()
        for number, dot, name in [field.rpartition(".")]
    }
