"""Job templates by API."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.job_templates import parameters, service
from jobs.job_templates.models import JobTemplate, JobTemplateVersion
from jobs.job_templates.parameters import Parameter
from jobs.job_templates.service import Content
from jobs.parsing.script import LARGEST
from tenants.api.paging import keyset_page, page_of
from tenants.api.serializers import PageQuery
from tenants.api.views import TenantApi, operation, read_body, read_query
from tenants.rights import Action, require


class ParameterBody(serializers.Serializer[Any]):
    """What to fill in: {{name}} in the script becomes the answer."""

    name = serializers.RegexField(r"^[a-z][a-z0-9_]{0,29}$")
    label = serializers.CharField(  # type: ignore[assignment]  # the metaclass takes fields away
        max_length=parameters.LONGEST_LABEL
    )
    default = serializers.CharField(max_length=parameters.LONGEST_VALUE, allow_blank=True, required=False)
    kind = serializers.ChoiceField(choices=parameters.KINDS, required=False)
    choices = serializers.ListField(
        child=serializers.CharField(max_length=parameters.LONGEST_VALUE),
        max_length=parameters.MOST_CHOICES,
        required=False,
    )


class TemplateOut(serializers.Serializer[JobTemplate]):
    """A template of the tenant, or your own."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    text = serializers.CharField(help_text="What it is for.")
    shared = serializers.SerializerMethodField(help_text="For everyone in the tenant.")
    version = serializers.IntegerField(help_text="The newest.")
    used_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()

    def get_shared(self, row: JobTemplate) -> bool:
        """Nobody's own."""
        return row.owner_id is None


class TemplateDetail(TemplateOut):
    """With what its newest version says."""

    script = serializers.SerializerMethodField()
    parameters = serializers.SerializerMethodField()

    def get_script(self, row: JobTemplate) -> str:
        """With the places of its parameters."""
        return self._version(row).script

    @extend_schema_field(ParameterBody(many=True))
    def get_parameters(self, row: JobTemplate) -> Any:
        """In the order of the form."""
        return self._version(row).parameters

    def _version(self, row: JobTemplate) -> JobTemplateVersion:
        return service.version_of(row)


class TemplateBody(serializers.Serializer[Any]):
    """What a template says."""

    name = serializers.CharField(max_length=service.LONGEST_NAME)
    text = serializers.CharField(max_length=service.LONGEST_TEXT, allow_blank=True, required=False)
    script = serializers.CharField(max_length=LARGEST, trim_whitespace=False)
    parameters = ParameterBody(many=True, required=False)


class TemplateIn(TemplateBody):
    """A new one."""

    shared = serializers.BooleanField(required=False, help_text="For everyone in the tenant; for admins.")


class TemplatesApi(TenantApi):
    """/templates/"""

    @operation("templates_list", tag="jobs", answer=page_of(TemplateOut), query=PageQuery)
    def get(self, request: Request) -> Response:
        """The tenant's templates and your own."""
        require(self.actor, Action.VIEW)
        query = read_query(request, PageQuery)
        rows = service.visible(self.actor)
        return keyset_page(request, rows, TemplateOut, query, by=("created_at", "pk"))

    @operation("template_create", tag="jobs", answer=TemplateDetail, status=201, body=TemplateIn)
    def post(self, request: Request) -> Response:
        """Keep a template."""
        asked = read_body(request, TemplateIn)
        made = service.create(
            actor=self.actor,
            name=asked["name"],
            text=asked.get("text", ""),
            content=_content(asked),
            shared=asked.get("shared", False),
        )
        return Response(TemplateDetail(made).data, status=201)


class TemplateApi(TenantApi):
    """/templates/<id>/"""

    @operation("template", tag="jobs", answer=TemplateDetail)
    def get(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002  # REST framework hands it over
        """One template with its script."""
        require(self.actor, Action.VIEW)
        return Response(TemplateDetail(service.template_of(self.actor, pk)).data)

    @operation("template_change", tag="jobs", answer=TemplateDetail, body=TemplateBody)
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Keep a new version."""
        row = service.template_of(self.actor, pk)
        asked = read_body(request, TemplateBody)
        before = service.content_of(service.version_of(row))
        made = service.change(
            actor=self.actor,
            template=row,
            name=asked["name"],
            text=asked.get("text", row.text),
            content=_content(asked, before),
        )
        return Response(TemplateDetail(made).data)

    @operation("template_delete", tag="jobs", status=204)
    def delete(self, request: Request, pk: uuid.UUID) -> Response:  # noqa: ARG002  # as above
        """Forget it; jobs that began with it stay."""
        service.delete(actor=self.actor, template=service.template_of(self.actor, pk))
        return Response(status=204)


def _content(asked: dict[str, Any], before: Content | None = None) -> Content:
    found = tuple(
        Parameter(
            name=one["name"],
            label=one["label"],
            default=one.get("default", ""),
            kind=one.get("kind", "text"),
            choices=tuple(one.get("choices", ())),
        )
        for one in asked.get("parameters", ())
    )
    fields = before.fields if before is not None else {}
    return Content(asked["script"], found, fields)
