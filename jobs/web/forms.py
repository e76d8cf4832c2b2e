"""The new job form: texts with their bounds; what they mean is read in jobs.services.drafts."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from jobs.parsing.fields import (
    LONGEST_COMMENT,
    LONGEST_DEPENDENCY,
    LONGEST_WORD,
    MOST_CPUS,
    MOST_NODES,
    MOST_TASKS,
)
from jobs.parsing.names import LONGEST_NAME
from jobs.parsing.numbers import grouped
from jobs.parsing.paths import LONGEST_PATH
from jobs.parsing.script import LARGEST
from jobs.rules.view import RulesView
from jobs.services.capacity import ClusterView, PartitionView
from jobs.services.describe import LABELS
from jobs.services.drafts import Typed

_LONGEST_TEXT = 200
MAIN = ("name", "partition", "nodes", "tasks", "cpus_per_task", "gpus", "memory_mib", "time_limit_minutes")
MORE = (
    *("array", "working_directory", "stdout", "stderr", "memory_per_cpu_mib", "dependency", "account", "qos"),
    *("reservation", "comment"),
)


class JobForm(forms.Form):
    """Every field is optional but the script; blank means: from the script, else Slurm's default."""

    key = forms.UUIDField(label=_("One-time key"), widget=forms.HiddenInput)
    script = forms.CharField(
        strip=False,
        required=False,
        widget=forms.Textarea(
            attrs={
                "class": "code",
                "rows": 18,
                "spellcheck": "false",
                "autocapitalize": "off",
                "wrap": "off",
                "data-editor": True,
            }
        ),
        label=_("Script"),
        help_text=_(
            "Begins with #!, at most 1 MiB. #SBATCH lines count where a field is blank. "
            "Windows line ends become LF."
        ),
    )
    upload = forms.FileField(
        required=False,
        label=_("Or a script from a file"),
        help_text=_("UTF-8 text, at most 1 MiB. It takes the place of the text above."),
    )
    environment = forms.CharField(
        strip=False,
        required=False,
        widget=forms.Textarea(
            # private: its values are not put into the browser's draft
            attrs={
                "class": "code",
                "rows": 4,
                "spellcheck": "false",
                "placeholder": "STEPS=100",
                "data-private": True,
            }
        ),
        label=_("Environment"),
        help_text=_(
            "NAME=value, one a line, at most 200. PATH, HOME, USER and LANG are set. "
            "Only you can see the values later."
        ),
    )

    # shown where only accounting speaks against it, which may have changed since it was read
    insists = forms.BooleanField(required=False, label=_("Send it all the same. Slurm decides."))

    def __init__(self, view: ClusterView, *args: Any, rules: RulesView | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, help_text in {**_helps(view), **_own(rules)}.items():
            self.fields[name] = _field(name, help_text, view)
        self.order_fields(["key", *MAIN, "script", "upload", "environment", *MORE])

    def typed(self) -> Typed:
        """The texts as they came; call after is_valid."""
        upload = self.cleaned_data.get("upload")
        return Typed(
            fields={name: self.cleaned_data.get(name, "") for name in (*MAIN, *MORE)},
            script=self.cleaned_data.get("script", ""),
            upload=upload.read(LARGEST + 1) if upload is not None else None,
            upload_name=str(getattr(upload, "name", "") or ""),
            environment=self.cleaned_data.get("environment", ""),
            insists=self.cleaned_data.get("insists", False),
        )

    def add_problems(self, problems: Mapping[str, str]) -> None:
        """Messages beside their fields; what has no field stands above the form."""
        for name, message in problems.items():
            self.add_error(name if name in self.fields else None, message)

    def renewed(self, *, script: str | None = None) -> JobForm:
        """The same texts and errors under a new one-time key; an uploaded script is kept as text."""
        data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["key"] = str(uuid.uuid4())
        if script is not None:
            data["script"] = script
        self.data = data
        return self

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """The others."""
        return [self[name] for name in MORE]

    @property
    def more_open(self) -> bool:
        """Whether one of the others holds something or is wrong."""
        return any(self[name].value() or self[name].errors for name in MORE)


def _field(name: str, help_text: str, view: ClusterView) -> forms.CharField:
    if name == "partition" and view.partitions:
        first = gettext("From the script")
        if view.default:
            first = gettext("From the script, else %(partition)s") % {"partition": view.default.name}
        choices = [("", first), *((known.name, known.title) for known in view.partitions)]
        widget: forms.Widget = forms.Select(choices=choices)
    else:
        widget = forms.TextInput(attrs={"autocomplete": "off", **_ATTRIBUTES.get(name, {})})
    longest = {
        "name": LONGEST_NAME * 4,  # counted and told by the parser, also for a text that was pasted
        "working_directory": LONGEST_PATH,
        "stdout": LONGEST_PATH,
        "stderr": LONGEST_PATH,
        "dependency": LONGEST_DEPENDENCY,
        "comment": LONGEST_COMMENT,
        "account": LONGEST_WORD,
        "qos": LONGEST_WORD,
        "reservation": LONGEST_WORD,
        "array": LONGEST_PATH,
    }.get(name, _LONGEST_TEXT)
    field = forms.CharField(
        label=LABELS[name],
        required=False,
        widget=widget,
        help_text=help_text,
        max_length=longest,
        strip=False,
    )
    field.widget.attrs.pop("maxlength", None)  # a browser would cut silently; the message says the limit
    return field


_ATTRIBUTES: dict[str, dict[str, str]] = {
    "nodes": {"inputmode": "numeric", "placeholder": "1"},
    "tasks": {"inputmode": "numeric", "placeholder": "1"},
    "cpus_per_task": {"inputmode": "numeric", "placeholder": "1"},
    "gpus": {"placeholder": "0"},
    "memory_mib": {"placeholder": "16G"},
    "time_limit_minutes": {"placeholder": "1:30:00"},
    "array": {"placeholder": "0-15%4"},
    "dependency": {"placeholder": "afterok:4711"},
}


def _up_to(most: int) -> str:
    return gettext("1 to %(most)s.") % {"most": grouped(most)} if most > 1 else gettext("At most 1.")


def _helps(view: ClusterView) -> dict[str, str]:
    """Help of each field with its bound in this cluster."""
    most = _Most(view.partitions)
    word = gettext("One name, at most %(most)d characters.") % {"most": LONGEST_WORD}
    own = gettext("One name, at most %(most)d characters. Blank: your default.") % {"most": LONGEST_WORD}
    named = gettext("Name of a partition, at most %(most)d characters.") % {"most": LONGEST_WORD}
    return {
        "name": gettext("At most %(most)d characters, no line break. Blank: the file's name, or job.")
        % {"most": LONGEST_NAME},
        "partition": gettext("Which nodes.") if view.partitions else named,
        "nodes": _up_to(most.nodes or MOST_NODES),
        "tasks": gettext("1 to %(most)s; processes that srun starts.")
        % {"most": grouped(most.cpus or MOST_TASKS)},
        "cpus_per_task": _up_to(most.node_cpus or MOST_CPUS),
        "gpus": _gpus_help(most),
        "memory_mib": _memory_help(most),
        "time_limit_minutes": _time_help(most),
        "array": gettext("Such as 0-15, 1-10%%2 or 1,3,5-7; the largest number is %(largest)s.")
        % {"largest": grouped(view.max_array_size - 1)},
        "working_directory": gettext("A full path. Blank: your home in the cluster."),
        "stdout": gettext("Below the working directory, or a full path. Blank: slurm-%j.out."),
        "stderr": gettext("Blank: the same file as the output."),
        "memory_per_cpu_mib": gettext("Instead of memory per node."),
        "dependency": gettext("Such as afterok:4711 or afterany:12:13."),
        "account": own,
        "qos": own,
        "reservation": word,
        "comment": gettext("At most %(most)d characters.") % {"most": LONGEST_COMMENT},
    }


def _own(rules: RulesView | None) -> dict[str, str]:
    """Help that names the accounts and the QOS which this member may use; none where they are not known."""
    if rules is None or not rules.mine:
        return {}
    account = rules.account_of({})
    rule = rules.association(account, ())
    found = {
        "account": (sorted({one.account for one in rules.mine}), account),
        "qos": (rule.qos if rule else (), rules.qos_of({}, rule)),
    }
    told = gettext("Yours: %(names)s. Blank: %(default)s.")
    return {
        name: told % {"names": ", ".join(names), "default": default}
        for name, (names, default) in found.items()
        if names and default
    }


class _Most:
    """The largest bounds over all partitions; 0 where they are not known."""

    def __init__(self, partitions: tuple[PartitionView, ...]) -> None:
        self.nodes = max((known.total_nodes for known in partitions), default=0)
        self.cpus = max((known.total_cpus for known in partitions), default=0)
        self.node_cpus = max((known.node_cpus for known in partitions), default=0)
        self.node_memory = max((known.node_memory for known in partitions), default=0)
        self.node_gpus = max((known.node_gpus for known in partitions), default=0)
        self.models = sorted({model for known in partitions for model in known.gpu_models})
        limits = [known.max_time for known in partitions]
        longest = (
            max((limit for limit in limits if limit is not None), default=0) if None not in limits else 0
        )
        self.days = longest // 1440


def _gpus_help(most: _Most) -> str:
    if not most.node_gpus:
        return gettext("On each node: a number, or model and number (a100:2).")
    bound = {"most": most.node_gpus, "model": most.models[0] if most.models else ""}
    if most.models:
        return gettext("On each node, 0 to %(most)d, or model and number (%(model)s:%(most)d).") % bound
    return gettext("On each node, 0 to %(most)d.") % bound


def _memory_help(most: _Most) -> str:
    told = gettext("16G, 1.5T, or MiB (512); 0 is all of the node.")
    if not most.node_memory:
        return told
    exact = most.node_memory % 1024 == 0
    amount = f"{most.node_memory // 1024}G" if exact else f"{most.node_memory}M"
    bound = gettext("At most %(amount)s.") % {"amount": amount}
    return f"{told} {bound}"


def _time_help(most: _Most) -> str:
    if not most.days:
        return gettext("Minutes, h:mm:ss or days-hours. Then the job is ended.")
    told = ngettext(
        "Minutes, h:mm:ss or days-hours. At most %(days)d day. Then the job is ended.",
        "Minutes, h:mm:ss or days-hours. At most %(days)d days. Then the job is ended.",
        most.days,
    )
    return told % {"days": most.days}
