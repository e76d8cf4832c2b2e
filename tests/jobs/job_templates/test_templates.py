"""Templates of a member and of a tenant: kept in versions, used by the form, seen by whom they are for."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs.job_templates import service
from jobs.job_templates.models import JobTemplate
from jobs.job_templates.parameters import Parameter
from jobs.job_templates.service import Content
from portal.lib.errors import BadInput, NotAllowed, NotVisible
from tenants.models import AuditEvent, Tenant, User
from tests.builders import actor_for, make_member, make_tenant, make_user, sign_in
from tests.clusters.builders import make_site
from tests.jobs.builders import make_slurm_cluster, make_submission

pytestmark = pytest.mark.django_db
SCRIPT = "#!/bin/bash\n#SBATCH --nodes={{nodes}}\necho hello\n"
CONTENT = Content(SCRIPT, (Parameter("nodes", "Nodes", "1", "number"),))
TYPED = {"name": "train", "text": "What we run", "script": SCRIPT, "parameters": "nodes | Nodes | 1"}


@pytest.fixture
def ada() -> User:
    return make_user("Ada")


@pytest.fixture
def tenant(ada: User) -> Tenant:
    return make_tenant("Aurora", owner=ada)


def keep(user: User, tenant: Tenant, *, shared: bool = False, name: str = "train") -> JobTemplate:
    actor = actor_for(user, tenant)
    return service.create(actor=actor, name=name, text="", content=CONTENT, shared=shared)


def test_a_change_is_a_new_version_and_the_old_one_stays(ada: User, tenant: Tenant) -> None:
    actor, template = actor_for(ada, tenant), keep(ada, tenant)
    later = Content(SCRIPT + "echo more\n", CONTENT.parameters)
    changed = service.change(actor=actor, template=template, name="train", text="", content=later)
    assert changed.version == 2
    assert service.content_of(service.version_of(changed)) == later
    assert service.content_of(service.version_of(changed, 1)) == CONTENT
    # other words alone are no version
    renamed = service.change(actor=actor, template=template, name="train-7b", text="For it", content=later)
    assert (renamed.version, renamed.name) == (2, "train-7b")
    with pytest.raises(NotVisible):
        service.version_of(renamed, 3)
    verbs = AuditEvent.objects.filter(verb__startswith="template.").order_by("id")
    assert [event.verb for event in verbs] == ["template.created", "template.changed", "template.changed"]


def test_who_sees_and_changes_which(ada: User, tenant: Tenant) -> None:
    rui, vera = make_member(tenant), make_member(tenant, "viewer")
    own, shared = keep(rui, tenant, name="mine"), keep(ada, tenant, shared=True)
    assert set(service.visible(actor_for(rui, tenant))) == {own, shared}
    assert set(service.visible(actor_for(ada, tenant))) == {shared}
    with pytest.raises(NotVisible):
        service.template_of(actor_for(ada, tenant), own.pk)
    assert service.template_of(actor_for(rui, tenant), own.pk) == own
    with pytest.raises(NotAllowed):
        service.delete(actor=actor_for(rui, tenant), template=shared)
    with pytest.raises(NotAllowed):
        keep(rui, tenant, shared=True, name="for all")
    with pytest.raises(NotAllowed):
        keep(vera, tenant)
    service.delete(actor=actor_for(rui, tenant), template=own)
    service.delete(actor=actor_for(ada, tenant), template=shared)
    assert not JobTemplate.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"script": "echo no first line\n"}, "script"),
        ({"script": "#!/bin/bash\n\0"}, "script"),
        ({"parameters": "nowhere | Nowhere"}, "parameters"),
    ],
)
def test_what_cannot_be_kept_stays_in_the_form(
    client: Client, ada: User, tenant: Tenant, wrong: dict[str, str], field: str
) -> None:
    sign_in(client, ada)
    page = client.post("/t/aurora/templates/new/", TYPED | wrong)
    assert page.status_code == 400
    assert field in page.context["form"].errors
    assert b"What we run" in page.content
    assert not JobTemplate.objects.exists()
    assert client.post("/t/aurora/templates/new/", TYPED).status_code == 302
    assert client.post("/t/aurora/templates/new/", TYPED).context["form"].errors["name"]


def test_a_template_opens_the_form_with_the_answers_in_it(client: Client, ada: User, tenant: Tenant) -> None:
    make_site()
    make_slurm_cluster(tenant)
    sign_in(client, ada)
    template = keep(ada, tenant)
    page = f"/t/aurora/templates/{template.pk}/"
    assert b'name="nodes" value="1"' in client.get(page).content
    wrong = client.post(f"{page}use/", {"nodes": "many"})
    assert (wrong.status_code, "nodes" in wrong.context["form"].errors) == (400, True)
    assert f"{page}change/" in wrong.content.decode()  # all of the page is there, not the form alone
    assert [version.number for version in wrong.context["versions"]] == [1]
    form = client.post(f"{page}use/", {"nodes": "2"}, follow=True)
    assert "#SBATCH --nodes=2" in form.context["form"]["script"].value()
    template.refresh_from_db()
    assert template.used_at is not None
    built_in = client.post("/t/aurora/templates/torchrun/use/", {"nodes": "2", "gpus": "2"}, follow=True)
    script = built_in.context["form"]["script"].value()
    assert "--nodes=2" in script
    assert "train.py" in script  # a default


def test_a_job_becomes_a_template_without_its_environment(client: Client, ada: User, tenant: Tenant) -> None:
    make_site()
    cluster = make_slurm_cluster(tenant)
    sent = make_submission(cluster, ada)
    sign_in(client, ada)
    page = f"/t/aurora/templates/new/?from={sent.pk}"
    start = client.get(page)
    assert start.context["form"]["script"].value() == sent.script
    typed = {"name": "again", "text": "", "script": sent.script, "parameters": ""}
    assert client.post(page, typed).status_code == 302
    kept = service.content_of(service.version_of(JobTemplate.objects.get()))
    assert "environment" not in kept.fields
    # another's submission is no beginning
    rui = make_member(tenant)
    sign_in(client, rui)
    assert client.get(page).status_code == 404


def test_names_may_come_again_for_another_person_but_not_for_one(ada: User, tenant: Tenant) -> None:
    rui = make_member(tenant)
    keep(ada, tenant)
    keep(rui, tenant)
    keep(ada, tenant, shared=True)
    for person, shared in ((ada, False), (ada, True), (rui, False)):
        with pytest.raises(BadInput) as refused:
            keep(person, tenant, shared=shared)
        assert "name" in refused.value.fields
