"""The style guide: every component in every state, with made-up things. Demo and tests only."""

from __future__ import annotations

from datetime import timedelta

from django import forms
from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from portal.lib import clock
from portal.lib.types import JSONDict
from portal.web.status import TONES


class SampleForm(forms.Form):
    """One field of each kind."""

    name = forms.CharField(
        label="Job name", max_length=128, help_text="1 to 128 characters, no line breaks.", initial="train-7b"
    )
    partition = forms.ChoiceField(label="Partition", choices=[("gpu", "gpu (2 nodes idle)"), ("cpu", "cpu")])
    memory = forms.CharField(
        label="Memory per node", required=False, help_text="Such as 512M, 16G or 1T. Blank: not sent."
    )
    hours = forms.IntegerField(label="Time limit", min_value=1, max_value=168, help_text="1 to 168 hours.")
    role = forms.ChoiceField(
        label="Role",
        widget=forms.RadioSelect,
        choices=[("member", "Member: submits jobs"), ("viewer", "Viewer: sees rows only")],
        initial="member",
    )
    script = forms.CharField(
        label="Script",
        widget=forms.Textarea(attrs={"rows": 6, "class": "code", "spellcheck": "false"}),
        help_text="At most 1 MiB. Must begin with #!.",
        initial="#!/bin/bash\n#SBATCH --gpus=1\nnvidia-smi\n",
    )
    upload = forms.FileField(label="Or a file", required=False, help_text="At most 1 MiB.")
    terms = forms.BooleanField(label="I accept the terms of use", help_text="Version 3 of 2 May.")


def _bad_form() -> SampleForm:
    return SampleForm({"name": "x" * 300, "partition": "gpu", "hours": "900", "script": "echo no shebang\n"})


def _lines() -> JSONDict:
    now = clock.now()
    done = {"status": "ready", "word": "Ready"}
    steps = [
        {
            "title": "Take machines",
            "component": "machines",
            "at": now - timedelta(seconds=74),
            "took": 1,
            **done,
        },
        {
            "title": "Separate the network",
            "component": "fabric",
            "at": now - timedelta(seconds=70),
            "took": 4,
            **done,
        },
        {
            "title": "Start Slurm",
            "component": "slurm",
            "status": "progressing",
            "took": 21,
            "detail": "slurmctld answers; 1 of 2 nodes registered.",
        },
        {
            "title": "Make accounts",
            "component": "identity",
            "status": "stalled",
            "took": 128,
            "reason": "NoFreeUid",
            "detail": "The range of user ids at this site is used up. The operator was told at 14:02.",
        },
        {
            "title": "Run a test job",
            "component": "smoke",
            "status": "waiting",
            "detail": "Waits for: Make accounts.",
        },
    ]
    line = [
        {"title": "Submitted", "status": "good", "at": now - timedelta(hours=3)},
        {"title": "Approved", "status": "good", "at": now - timedelta(minutes=4), "text": "by Olga Operator"},
        {"title": "Being built", "status": "working", "text": "4 of 5 steps"},
        {"title": "Ready", "status": "waiting", "text": "in about 20 s"},
    ]
    return {"steps": steps, "line": line}


def _jobs() -> list[JSONDict]:
    now = clock.now()
    rows = [
        (4711, "train-7b", "RUNNING", "gpu-a", 2, timedelta(minutes=64), "", now - timedelta(hours=2)),
        (
            4712,
            "数据-训练 🚀",
            "PENDING",
            "gpu-a",
            8,
            None,
            "Waits for free nodes",
            now - timedelta(minutes=3),
        ),
        (
            4713,
            "<img src=x onerror=alert(1)>",
            "COMPLETED",
            "gpu-a",
            1,
            timedelta(seconds=49),
            "",
            now - timedelta(days=1),
        ),
        (
            4714,
            'it\'s "v2"',
            "FAILED",
            "gpu-b",
            1,
            timedelta(hours=7, minutes=2),
            "Exit code 1",
            now - timedelta(days=2),
        ),
        (
            4715,
            "a" * 128,
            "CANCELLED",
            "gpu-b",
            0,
            timedelta(days=1, hours=2),
            "By you",
            now - timedelta(days=40),
        ),
        (
            4716,
            "sweep",
            "OUT_OF_MEMORY",
            "gpu-b",
            4,
            timedelta(minutes=12),
            "Used 64 of 64 GiB",
            now - timedelta(days=3),
        ),
    ]
    names = ("number", "name", "state", "cluster", "gpus", "ran", "reason", "at")
    return [dict(zip(names, row, strict=True)) for row in rows]


def context() -> JSONDict:
    """Everything the guide's template shows."""
    now = clock.now()
    bad = _bad_form()
    bad.is_valid()
    return {
        **_lines(),
        "statuses": [(tone, words.split()) for tone, words in TONES.items()],
        "tones": list(TONES),
        "jobs": _jobs(),
        "page": Paginator(range(1234), 50).page(2),
        "form": SampleForm(),
        "bad": bad,
        "now": now,
        "old": now - timedelta(minutes=9),
        "capacity": [
            {"label": "in use", "value": 11, "tone": "blue"},
            {"label": "reserved", "value": 2, "tone": "amber"},
            {"label": "being wiped", "value": 1, "tone": "neutral"},
            {"label": "broken", "value": 1, "tone": "red"},
            {"label": "free", "value": 5, "tone": "grey"},
        ],
        "cells": ["completed"] * 22
        + ["failed", "running", "running", "running"]
        + ["pending"] * 12
        + ["cancelled"] * 2,
        "output": "epoch 1  loss 2.314\n"
        + "".join(f"step {n:>4}  loss {2.3 / (1 + n / 40):.3f}\n" for n in range(60)),
        "nav": [
            {"label": "Overview", "url": "#", "icon": "overview", "current": True},
            {"label": "Clusters", "url": "#", "icon": "cluster"},
            {"label": "Jobs", "url": "#", "icon": "job", "count": 3},
            {"label": "Templates", "url": "#", "icon": "template"},
            {"label": "Orders", "url": "#", "icon": "order"},
            {"label": "Members", "url": "#", "icon": "members"},
            {"label": "Usage", "url": "#", "icon": "usage"},
            {"label": "Audit", "url": "#", "icon": "audit"},
            {"label": "Settings", "url": "#", "icon": "settings"},
        ],
        "search_url": "#",
    }


@require_safe
def styleguide(request: HttpRequest) -> HttpResponse:
    """The guide; 404 in production."""
    if settings.MODE == "production":
        raise Http404
    return render(request, "portal/styleguide.html", context())


urlpatterns = [path("", styleguide, name="styleguide")]
