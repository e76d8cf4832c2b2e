"""Keeps templates, finds them, and fills them in."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from jobs.examples import EXAMPLES, Example, example
from jobs.job_templates.models import JobTemplate, JobTemplateVersion
from jobs.job_templates.parameters import Parameter, declared, fill, from_json, to_json
from jobs.parsing.refusal import Refusal
from jobs.parsing.script import parse_script
from portal.lib import clock
from portal.lib.errors import BadInput, NotAllowed, NotVisible, WrongState
from portal.lib.types import Words
from tenants.actor import Actor
from tenants.commands import command
from tenants.models import User
from tenants.rights import Action, require
from tenants.scoping import TenantQuerySet, get_visible

LONGEST_NAME = 60
LONGEST_TEXT = 200
MOST_TEMPLATES = 200  # of a tenant, and of each member


@dataclass(frozen=True, slots=True)
class Content:
    """What one version of a template says."""

    script: str
    parameters: tuple[Parameter, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A template that somebody wants to begin with, built in or kept."""

    key: str  # for addresses: a built-in's name, or the id of a kept one
    title: Words
    text: Words
    content: Content


def visible(actor: Actor) -> TenantQuerySet[JobTemplate]:
    """The tenant's and the actor's own, by name."""
    rows = JobTemplate.objects.for_actor(actor).filter(Q(owner=None) | Q(owner=actor.user))
    return rows.select_related("owner").order_by("name", "pk")


def template_of(actor: Actor, key: object) -> JobTemplate:
    """One of them. Raises NotVisible, also for another member's."""
    found = get_visible(JobTemplate.objects.select_related("owner"), actor, key)
    if found.owner_id is not None and (actor.user is None or found.owner_id != actor.user.pk):
        raise NotVisible
    return found


def version_of(template: JobTemplate, number: int | None = None) -> JobTemplateVersion:
    """A version, the newest by default. Raises NotVisible."""
    found = template.versions.filter(number=number or template.version).first()
    if found is None:
        raise NotVisible
    return found


def content_of(version: JobTemplateVersion) -> Content:
    """What it says."""
    return Content(version.script, from_json(version.parameters), version.fields)


def choose(actor: Actor, key: str) -> Chosen | None:
    """The built-in of that name, or the kept one of that id in its newest version; else None."""
    if (known := example(key)) is not None:
        return _chosen(known)
    try:
        template = template_of(actor, uuid.UUID(key))
    except (ValueError, NotVisible):
        return None
    content = content_of(version_of(template))
    return Chosen(str(template.pk), template.name, template.text, content)


def built_in() -> tuple[Chosen, ...]:
    """Those that come with the portal."""
    return tuple(map(_chosen, EXAMPLES))


def _chosen(known: Example) -> Chosen:
    return Chosen(known.name, known.title, known.text, Content(known.script, known.parameters, known.fields))


def filled(chosen: Chosen, answers: Mapping[str, str]) -> dict[str, str]:
    """The texts of the new job form. Raises BadInput with the parameters' names."""
    content = chosen.content
    return {**content.fields, "script": fill(content.script, content.parameters, answers)}


def create(*, actor: Actor, name: str, text: str, content: Content, shared: bool) -> JobTemplate:
    """Keep a template for oneself or, `shared`, for the tenant. Raises NotAllowed, BadInput, WrongState."""
    require(actor, Action.SUBMIT_JOB)
    if shared:
        require(actor, Action.ACT_ON_ANY_JOB)
    user = _person(actor)
    assert actor.tenant is not None  # noqa: S101  # a role is one within a tenant
    name, text = _named(name, text)
    content = _checked(content)
    owner = None if shared else user
    try:
        with command("template.created", actor=actor, detail={"shared": shared}) as done:
            others = JobTemplate.objects.for_actor(actor).filter(owner=owner)
            if others.count() >= MOST_TEMPLATES:
                told = _("There are %(most)d templates already.") % {"most": MOST_TEMPLATES}
                raise WrongState(told, hint=_("Delete one that nobody needs."))
            template = JobTemplate.objects.create(tenant=actor.tenant, owner=owner, name=name, text=text)
            _add_version(template, content, user)
            done.target = template
    except IntegrityError as error:
        raise _same_name() from error
    return template


def change(*, actor: Actor, template: JobTemplate, name: str, text: str, content: Content) -> JobTemplate:
    """Keep a new version; the others stay. Other words alone (name and purpose) make none."""
    require_editor(actor, template)
    user = _person(actor)
    name, text = _named(name, text)
    content = _checked(content)
    try:
        with transaction.atomic(), command("template.changed", actor=actor, target=template) as done:
            template = JobTemplate.objects.select_for_update(of=("self",)).get(pk=template.pk)
            template.name, template.text = name, text
            template.save(update_fields=["name", "text"])
            if content_of(version_of(template)) != content:
                _add_version(template, content, user)
            done.detail = {"version": template.version}
    except IntegrityError as error:
        raise _same_name() from error
    return template


def delete(*, actor: Actor, template: JobTemplate) -> None:
    """Forget it with all versions; jobs that began with it stay."""
    require_editor(actor, template)
    with command("template.deleted", actor=actor, target=template):
        JobTemplate.objects.filter(pk=template.pk).delete()


def may_change(actor: Actor, template: JobTemplate) -> bool:
    """Whether the actor may change or delete it."""
    try:
        require_editor(actor, template)
    except NotAllowed:
        return False
    return True


def note_use(actor: Actor, chosen: Chosen) -> None:
    """Somebody begins with it now. No audit row: the submit has one."""
    if example(chosen.key) is None:
        visible(actor).filter(pk=chosen.key).update(used_at=clock.now())


def require_editor(actor: Actor, template: JobTemplate) -> None:
    """Raises NotAllowed for who may not change it: another's, or the tenant's without an admin's role."""
    require(actor, Action.SUBMIT_JOB)
    if template.owner_id is None:
        require(actor, Action.ACT_ON_ANY_JOB)
    elif actor.user is None or template.owner_id != actor.user.pk:
        raise NotAllowed(_("Only its owner can change this template."))


def _add_version(template: JobTemplate, content: Content, user: User) -> None:
    template.version += 1
    template.save(update_fields=["version"])
    template.versions.create(
        number=template.version,
        script=content.script,
        fields=dict(content.fields),
        parameters=to_json(content.parameters),
        created_by=user,
    )


def _named(name: str, text: str) -> tuple[str, str]:
    name, text = " ".join(name.split()), " ".join(text.split())
    problems = {}
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable():
        problems["name"] = _("Enter a name of 1 to %(most)d printable characters.") % {"most": LONGEST_NAME}
    if len(text) > LONGEST_TEXT or not text.isprintable():
        problems["text"] = _("At most %(most)d printable characters.") % {"most": LONGEST_TEXT}
    if problems:
        raise BadInput(fields=problems)
    return name, text


def _checked(content: Content) -> Content:
    """As it may be kept: a script that a job could have, and parameters that have their places in it."""
    try:
        script = parse_script(content.script).text
    except Refusal as refusal:
        raise BadInput(fields={"script": str(refusal)}) from refusal
    kept = {name: value for name, value in content.fields.items() if value}
    return Content(script, declared(content.parameters, script), kept)


def _same_name() -> BadInput:
    return BadInput(fields={"name": _("There is a template of this name already.")})


def _person(actor: Actor) -> User:
    if actor.user is None:
        raise NotAllowed(_("Only people keep templates."))
    return actor.user
