"""Notifications by API: what one wants to be told of, and what happened."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.models import Job
from jobs.notify import service
from jobs.notify.models import Happening, JobNotice
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, require


class WantedOut(serializers.Serializer[Any]):
    """What to be told of, and how."""

    on_start = serializers.BooleanField()
    on_end = serializers.BooleanField(help_text="However a job ended.")
    on_failure = serializers.BooleanField()
    by_mail = serializers.BooleanField()
    in_browser = serializers.BooleanField()


class NoticeOut(serializers.Serializer[JobNotice]):
    """One happening."""

    id = serializers.UUIDField()
    job = serializers.UUIDField(source="job_id")
    label = serializers.SerializerMethodField(  # type: ignore[assignment]  # the metaclass takes fields away
        help_text="As Slurm's tools print the job's id."
    )
    what = serializers.ChoiceField(choices=Happening.choices)
    at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField(allow_null=True, help_text="Null: unread.")

    @extend_schema_field(serializers.CharField())
    def get_label(self, row: JobNotice) -> str:
        """12, 12_3."""
        job: Job = row.job
        return job.label


class NotificationsApi(TenantApi):
    """/notifications/"""

    @operation("notifications_list", tag="jobs", answer=page_of(NoticeOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """What happened to your jobs, the newest first."""
        require(self.actor, Action.VIEW)
        query = read_query(request, PageQuery)
        rows = service.shown(self.actor).select_related("job")
        return keyset_page(request, rows, NoticeOut, query, by=("-at", "-pk"))


class NotificationsReadApi(TenantApi):
    """/notifications/read/"""

    @operation("notifications_read", tag="jobs", status=204)
    def post(self, request: Request) -> Response:  # noqa: ARG002  # REST framework hands it over
        """You have read them all."""
        service.mark_seen(actor=self.actor)
        return Response(status=204)


class NotificationSettingsApi(TenantApi):
    """/notifications/settings/"""

    @operation("notification_settings", tag="jobs", answer=WantedOut)
    def get(self, request: Request) -> Response:  # noqa: ARG002  # REST framework hands it over
        """What you are told of all your jobs."""
        require(self.actor, Action.VIEW)
        return Response(WantedOut(service.wanted_of(self.actor)).data)

    @operation("notification_settings_change", tag="jobs", answer=WantedOut, body=WantedOut)
    def patch(self, request: Request) -> Response:
        """Be told of what happens from now on."""
        asked = read_body(request, WantedOut)
        service.change(actor=self.actor, wanted=service.Wanted(**asked))
        return Response(WantedOut(service.wanted_of(self.actor)).data)
