"""The new job form, the submit, and what becomes of it."""

from __future__ import annotations

import re
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from clusters.clients.slurmrest import errors
from clusters.models import Cluster, SlurmEndpoint
from jobs.models import Job, Submission
from jobs.observer.look import Memory, look
from jobs.parsing.client_environment import is_of_client
from jobs.services import submissions
from jobs.services.drafts import Typed
from portal.lib.errors import NotAllowed, WrongState
from portal.lib.types import JSONDict
from tenants.models import AuditEvent, Role, Tenant, User
from tests.builders import actor_for, make_member, sign_in
from tests.cases import case
from tests.jobs.builders import HOMES, SCRIPT, identity_for
from tests.jobs.fakes import FakeSlurm

pytestmark = pytest.mark.django_db


def form_of(page: str) -> JSONDict:
    found = re.search(r'name="key" value="([0-9a-f-]{36})"', page)
    assert found
    return {"key": found[1]}


def address(cluster: Cluster) -> str:
    return f"/t/aurora-lab/clusters/{cluster.pk}/jobs/new/"


def press(client: Client, cluster: Cluster, **fields: object) -> tuple[int, str]:
    """Fill in the form and submit it: the status and where it led, or the page."""
    data = form_of(client.get(address(cluster)).content.decode()) | {"script": SCRIPT} | fields
    response = client.post(address(cluster), data)
    return response.status_code, response.get("Location") or response.content.decode()


def test_an_accepted_submit_leads_to_the_job_at_once(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    status, where = press(sign_in(client, alice), cluster, name="train", gpus="2", memory_mib="16G")
    job = Job.objects.get()
    assert (status, where) == (302, f"/t/aurora-lab/jobs/{job.pk}/")
    assert (job.slurm_job_id, job.name, job.owner, job.state) == (4711, "train", alice, "PENDING")
    assert job.comment == ""
    submission = Submission.objects.get()
    assert (submission.state, submission.job, submission.slurm_job_id) == ("accepted", job, 4711)
    assert "comment" not in submission.request  # our mark is not the submitter's
    assert list(
        AuditEvent.objects.filter(verb__startswith="job.").values_list("verb", flat=True).order_by("id")
    ) == [
        "job.submitted",
        "job.accepted",
    ]


@case("U08")
@case("U07")
def test_blank_fields_send_no_keys_and_a_small_safe_environment(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PORTAL", "x")
    press(sign_in(client, alice), cluster)
    (request,) = slurm.submitted
    account = identity_for(cluster, alice).name
    names = (
        "account",
        "qos",
        "reservation",
        "dependency",
        "nodes",
        "partition",
        "memory_mib",
        "gpus",
        "array",
    )
    assert [getattr(request, name) for name in names] == [None] * len(names)
    assert request.working_directory == f"{HOMES}/{account}"
    assert request.environment["HOME"] == f"{HOMES}/{account}"
    own = {name for name in request.environment if not is_of_client(name)}
    assert own == {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG"}
    assert request.environment["SLURM_SUBMIT_DIR"] == request.working_directory


@case("U07")
def test_typed_variables_arrive_whole(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    press(sign_in(client, alice), cluster, environment="A=b=c\r\nGREET=héllo\r\nPATH=/opt/bin:/bin\r\n")
    (request,) = slurm.submitted
    assert (request.environment["A"], request.environment["GREET"]) == ("b=c", "héllo")
    assert request.environment["PATH"] == "/opt/bin:/bin"


@case("U06")
def test_all_of_the_node_is_really_sent_and_kept(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    press(sign_in(client, alice), cluster, memory_mib="0")
    assert slurm.submitted[0].memory_mib == 0
    assert Submission.objects.get().request["memory_mib"] == 0


@case("U01")
def test_windows_line_ends_are_sent_as_unix_ones(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    file = SimpleUploadedFile("train.sh", b"#!/bin/bash\r\necho hi\r\n")
    status, where = press(sign_in(client, alice), cluster, upload=file, script="")
    assert status == 302
    assert "Windows line ends (CR LF) became LF." in client.get(where).content.decode()
    assert slurm.submitted[0].script == "#!/bin/bash\necho hi\n"
    assert slurm.submitted[0].name == "train.sh"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"script": ""}, "The script is empty"),
        ({"script": "echo hi"}, "first line must name the program"),
        ({"name": "two\nlines"}, "cannot hold a line break"),
        ({"name": "x" * 300}, "At most 255 characters; this has 300"),
        ({"time_limit_minutes": "soon"}, "This is not a time limit"),
        ({"memory_mib": "-1"}, "Memory cannot be negative"),
        ({"memory_mib": "64G"}, "The nodes of train have 32 GiB"),
        ({"memory_mib": "1G", "memory_per_cpu_mib": "1G"}, "cannot both be set"),
        ({"nodes": "3"}, "Partition train has 2 nodes for a job"),
        ({"gpus": "3"}, "The nodes of train have 2 GPUs each"),
        ({"gpus": "h100:1"}, "has no h100, but a100"),
        ({"partition": "gone"}, "There is no partition gone here. There are: train."),
        ({"time_limit_minutes": "UNLIMITED"}, "allows at most 7-00:00:00"),
        ({"array": "1-1001"}, "largest task number here is 1,000"),
        ({"array": "%2"}, "tasks before % are missing"),
        ({"environment": "=x"}, "the name before = is missing"),
        ({"script": SCRIPT.replace("\n", "\n#SBATCH --foo\n", 1)}, "Line 2: sbatch has no option --foo"),
        ({"script": SCRIPT.replace("\n", "\n#SBATCH --nodes=9\n", 1)}, "asked for on line 2 of the script"),
    ],
)
def test_what_cannot_be_sent_is_told_beside_its_field_and_what_was_typed_stays(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, fields: dict[str, str], told: str
) -> None:
    status, page = press(sign_in(client, alice), cluster, comment="stays here", **fields)
    assert status == 400
    assert told in page.replace("&#x27;", "'")
    assert 'value="stays here"' in page
    assert slurm.submitted == []
    assert not Submission.objects.exists()


def test_a_refused_upload_comes_back_as_text(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    file = SimpleUploadedFile("train.sh", b"#!/bin/bash\necho precious\n")
    status, page = press(sign_in(client, alice), cluster, upload=file, nodes="99")
    assert status == 400
    assert "echo precious" in page


def test_the_form_beats_the_script_and_each_value_says_where_it_came_from(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    script = "#!/bin/bash\n#SBATCH --time=10 --nodes=2\n#SBATCH --gres=gpu:a100:1\necho\n"
    press(sign_in(client, alice), cluster, script=script, time_limit_minutes="5")
    (request,) = slurm.submitted
    assert (request.time_limit_minutes, request.nodes) == (5, 2)
    submission = Submission.objects.get()
    assert submission.origins["time_limit_minutes"] == "form"
    assert submission.origins["nodes"] == "line 2"
    assert submission.origins["gres"] == "line 3"
    assert submission.origins["working_directory"] == "default"
    page = client.get(f"/t/aurora-lab/jobs/{submission.job_id}/").content.decode()
    assert "gpu:a100:1" in page
    assert "line 3" in page


def test_check_shows_what_would_be_sent_and_sends_nothing(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    status, page = press(
        sign_in(client, alice), cluster, check="1", gpus="2", time_limit_minutes="2:00:00", array="0-3"
    )
    assert status == 200
    assert "At most 16 GPU-hours" in page
    assert "4 tasks (0, 1, 2, 3)" in page
    assert slurm.submitted == []
    data = {"key": str(uuid.uuid4()), "script": "echo"}
    part = client.post(address(cluster), data, headers={"HX-Request": "true", "HX-Target": "preview"})
    assert part.content.decode().strip().startswith('<div id="preview"')
    assert "first line" in part.content.decode()


def test_the_line_that_asks_for_what_is_not_there_is_marked(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    script = SCRIPT.replace("\n", "\n#SBATCH --partition=none\n", 1)
    data = {"key": str(uuid.uuid4()), "script": script, "check": "1"}
    checked = sign_in(client, alice).post(address(cluster), data, headers={"HX-Request": "true"})
    assert 'data-script-line="2">There is no partition none here' in checked.content.decode()
    status, page = press(client, cluster, script=script)
    assert (status, slurm.submitted) == (400, [])
    assert '<li class="is-error">#SBATCH --partition=none</li>' in page


@pytest.mark.parametrize("more", ["#SBATCH --array=0-3", "#SBATCH hetjob"])
def test_an_array_and_a_set_lead_to_all_of_it(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, more: str
) -> None:
    script = SCRIPT.replace("\n", f"\n{more}\n", 1)
    status, where = press(sign_in(client, alice), cluster, script=script)
    job = Job.objects.get()
    assert (status, where) == (302, f"/t/aurora-lab/jobs/{job.pk}/tasks/")
    page = client.get(where)
    assert page.status_code == 200
    assert f"?from={Submission.objects.get().pk}" in page.content.decode()  # submit again with changes
    assert f"/jobs/{job.pk}/notify/" in page.content.decode()


@case("U10")
def test_a_second_press_of_the_same_form_shows_the_first_ones_job(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    sign_in(client, alice)
    data = form_of(client.get(address(cluster)).content.decode()) | {"script": SCRIPT}
    first = client.post(address(cluster), data)
    second = client.post(address(cluster), data)
    assert first["Location"] == second["Location"]
    assert len(slurm.submitted) == 1


@case("U10")
def test_a_lost_answer_is_checking_and_not_failed(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    slurm.lost = True
    _, where = press(sign_in(client, alice), cluster)
    submission = Submission.objects.get()
    assert where == f"/t/aurora-lab/submissions/{submission.pk}/"
    assert (submission.state, submission.job) == ("checking", None)
    cluster.slurm.refresh_from_db()
    assert cluster.slurm.next_observe_at is not None


@pytest.mark.parametrize(
    ("code", "words", "beside"),
    [
        (2000, "Invalid partition name specified", "partition"),
        (2045, "Invalid account or account/partition combination specified", "account"),
        (2066, "Invalid qos specification", "qos"),
        (2038, "Job dependency problem", "dependency"),
    ],
)
def test_slurms_no_stands_beside_the_field(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, code: int, words: str, beside: str
) -> None:
    slurm.refusal = errors.SlurmRefused(code, words)
    status, page = press(sign_in(client, alice), cluster, name="kept")
    assert status == 400
    assert re.search(rf'id="id_{beside}_error">\s*<li[^>]*>.*?{words}', page, re.DOTALL)
    assert 'value="kept"' in page
    assert Submission.objects.get().state == "refused"
    slurm.refusal = None
    again = client.post(address(cluster), form_of(page) | {"script": SCRIPT})
    assert again.status_code == 302, "the form came back with a new key"


@pytest.mark.parametrize("fault", [errors.NotReachable(), errors.TokenRefused(), errors.TryAgain()])
def test_a_cluster_that_does_not_answer_keeps_the_form_and_has_no_job(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, fault: Exception
) -> None:
    sign_in(client, alice)
    key = form_of(client.get(address(cluster)).content.decode())
    slurm.fault = fault
    response = client.post(address(cluster), key | {"script": SCRIPT, "name": "kept"})
    page = response.content.decode()
    assert response.status_code == 503
    assert "Nothing was submitted" in page
    assert 'value="kept"' in page
    assert Submission.objects.get().state == "refused"
    assert not Job.objects.exists()


@case("U10")
def test_a_job_that_nobody_could_look_at_yet_has_a_page_and_stays_one_row(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(slurm, "job", lambda job_id: (_ for _ in ()).throw(errors.NotReachable()))
        _, where = press(sign_in(client, alice), cluster, name="train")
    assert client.get(where).status_code == 200
    slurm.change(4711, state="RUNNING", submit_time=slurm.now() + 2, start_time=slurm.now())
    look(SlurmEndpoint.objects.select_related("cluster").get(cluster=cluster), Memory())
    job = Job.objects.get()
    assert (job.state, job.name) == ("RUNNING", "train")
    assert list(job.events.values_list("state", flat=True)) == ["PENDING", "RUNNING"]


def test_warnings_of_an_accepted_job_are_shown(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    slurm.warnings = ("Requested node configuration is not available",)
    _, where = press(sign_in(client, alice), cluster)
    assert "Requested node configuration is not available" in client.get(where).content.decode()


def test_a_viewer_may_not_submit_and_a_member_may(
    client: Client, slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    assert press(sign_in(client, alice), cluster)[0] == 302
    viewer = make_member(tenant, Role.VIEWER)
    sign_in(client, viewer)
    assert client.get(address(cluster)).status_code == 403
    assert client.post(address(cluster), {"key": str(uuid.uuid4()), "script": SCRIPT}).status_code == 403
    with pytest.raises(NotAllowed):
        submissions.submit_job(
            actor=actor_for(viewer, tenant), cluster=cluster, typed=Typed(script=SCRIPT), key=uuid.uuid4()
        )
    assert len(slurm.submitted) == 1


def test_a_cluster_that_is_going_takes_no_jobs(
    slurm: FakeSlurm, tenant: Tenant, alice: User, cluster: Cluster
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False)
    cluster.refresh_from_db()
    with pytest.raises(WrongState, match="being removed"):
        submissions.submit_job(
            actor=actor_for(alice, tenant), cluster=cluster, typed=Typed(script=SCRIPT), key=uuid.uuid4()
        )


@pytest.mark.parametrize("name", ["hello-gpu", "progress", "sweep"])
def test_each_built_in_template_can_be_submitted_as_it_is(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster, name: str
) -> None:
    sign_in(client, alice)
    start = client.get(f"/t/aurora-lab/jobs/new/?template={name}")
    page = client.get(start["Location"])
    form = page.context["form"]
    response = client.post(
        address(cluster), {"key": str(form["key"].value()), "script": form["script"].value()}
    )
    assert response.status_code == 302
    assert len(slurm.submitted) == 1


def test_an_own_job_can_be_changed_and_submitted_again(
    client: Client, slurm: FakeSlurm, alice: User, cluster: Cluster
) -> None:
    sign_in(client, alice)
    press(
        client,
        cluster,
        gpus="a100:1",
        memory_mib="16G",
        time_limit_minutes="90",
        environment="A=b",
        array="0-3",
    )
    made = Submission.objects.get()
    form = client.get(f"{address(cluster)}?from={made.pk}").context["form"]
    values = {
        name: form[name].value()
        for name in ("gpus", "memory_mib", "time_limit_minutes", "array", "environment")
    }
    assert values == {
        "gpus": "a100:1",
        "memory_mib": "16384",
        "time_limit_minutes": "1:30:00",
        "array": "0-3",
        "environment": "A=b",
    }
    assert form["script"].value() == SCRIPT
