"""What the client makes of answers that a healthy API server does not give."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest

from clusters.clients.kube import errors
from clusters.clients.kube.models import Access, Kind, Ref
from clusters.kube import kinds
from clusters.kube.objects import manifest
from portal.lib import http
from portal.lib.errors import PermanentError
from portal.lib.http import NotSent
from tests.clusters.kube.script import Asked, Reply, Script, status
from tests.kube.pki import Authority

SETS = Kind("slinky.slurm.net/v1beta1", "NodeSet", "nodesets")
WEBHOOK_SAYS = 'admission webhook "nodeset-v1beta1.kb.io" denied the request: spec.controllerRef is immutable'
SET = Ref(SETS, "a", "slurm")
GROUPS = {
    "kind": "APIGroupList",
    "groups": [{"name": SETS.group, "versions": [{"groupVersion": SETS.api_version}]}],
}
RESOURCES = {"kind": "APIResourceList", "resources": [{"name": "nodesets"}]}
NOT_FOUND = status(404, "NotFound", name="a", group=SETS.group, kind="nodesets")


def named(name: str) -> dict[str, object]:
    """An object."""
    return {
        "apiVersion": SETS.api_version,
        "kind": "NodeSet",
        "metadata": {"name": name, "namespace": "slurm"},
    }


def replies(script: Script, *answers: Reply) -> None:
    """Answer with these, one after the other."""
    rest: Iterator[Reply] = iter(answers)
    script.play = lambda _: next(rest)


def test_only_a_not_found_of_that_very_object_means_that_there_is_none(script: Script) -> None:
    replies(script, NOT_FOUND)
    assert script.client().get(SET) is None
    for other in (
        status(404, "NotFound", name="slurm", kind="namespaces"),
        status(404, "NotFound", name="b", group=SETS.group, kind="nodesets"),
        status(404, "NotFound", name="a", group=SETS.group, kind="controllers"),
        status(404, "SomethingElse", name="a", group=SETS.group, kind="nodesets"),
    ):
        replies(script, other)
        with pytest.raises(errors.ParentMissing):
            script.client().get(SET)


def test_a_page_that_says_404_is_believed_only_if_the_kind_is_listed_nowhere(script: Script) -> None:
    def play(asked: Asked, groups: object) -> Reply:
        known = {"/apis": groups, SETS.root: RESOURCES}
        if asked.path in known:
            return Reply(body=known[asked.path])
        return Reply(404, b"404 page not found", kind="text/plain")

    script.play = lambda asked: play(asked, GROUPS)
    with pytest.raises(errors.BadAnswer):
        script.client().get(SET)
    with pytest.raises(errors.BadAnswer):
        script.client().list(SETS)
    script.play = lambda asked: play(asked, {"kind": "APIGroupList", "groups": []})
    assert script.client().get(SET) is None
    assert script.client().list(SETS) == ()
    script.play = lambda _: Reply(404, b"<html>not here</html>", kind="text/html")
    with pytest.raises(errors.BadAnswer):
        script.client().get(SET)


def page(*names: str, more: str = "") -> Reply:
    """A part of a list."""
    return Reply(
        body={"kind": "NodeSetList", "metadata": {"continue": more}, "items": [named(name) for name in names]}
    )


@pytest.mark.slow
def test_a_list_is_whole_or_an_error(script: Script) -> None:
    replies(script, page("a", more="x"), page("b"))
    assert [found["metadata"]["name"] for found in script.client().list(SETS)] == ["a", "b"]
    assert "continue=x" in script.asked[-1].path
    replies(script, page("a", more="x"), status(500, "InternalError", "etcd is away"))
    with pytest.raises(errors.ServerFailed):
        script.client().list(SETS)
    replies(script, page("a", more="x"), status(410, "Expired"), page("a", "b", "c"))
    assert len(script.client().list(SETS)) == 3
    script.play = lambda _: page("a", more="x")
    with pytest.raises(errors.BadAnswer):
        script.client().list(SETS)


@pytest.mark.parametrize(
    "body", [{"kind": "Status", "status": "Success"}, {"kind": "PodList", "items": []}, {"items": []}]
)
def test_something_else_than_the_list_is_no_empty_list(script: Script, body: object) -> None:
    script.play = lambda _: Reply(body=body)
    with pytest.raises(errors.BadAnswer):
        script.client().list(SETS)


@pytest.mark.parametrize(
    "odd",
    [
        [],
        {},
        {"metadata": []},
        {"metadata": {"name": 1}},
        {"metadata": {"name": "a", "labels": ["x"]}},
        {"metadata": {"name": "a", "labels": {"x": 1}}},
        {"metadata": {"name": "a", "finalizers": "x"}},
        {"metadata": {"name": "a", "managedFields": [{"fieldsV1": []}]}},
        {"metadata": {"name": "a"}, "status": []},
        {"metadata": {"name": "a"}, "spec": 1},
    ],
)
def test_an_odd_object_is_a_bad_answer_and_no_bug(script: Script, odd: object) -> None:
    right = {**named("a"), "spec": {}, "status": {}}
    script.play = lambda _: Reply(body=right)
    assert script.client().get(SET) == right
    typed = {**odd, "apiVersion": SETS.api_version, "kind": "NodeSet"} if isinstance(odd, dict) else odd
    script.play = lambda _: Reply(body=typed)
    with pytest.raises(errors.BadAnswer):
        script.client().get(SET)
    script.play = lambda _: Reply(body={"kind": "NodeSetList", "items": [odd]})
    with pytest.raises(errors.BadAnswer):
        script.client().list(SETS)


def test_another_object_is_not_taken_for_ours(script: Script) -> None:
    for other in (named("b"), {**named("a"), "kind": "Controller"}):
        replies(script, Reply(body=other))
        with pytest.raises(errors.BadAnswer):
            script.client().get(SET)


def test_no_redirect_is_followed(script: Script) -> None:
    script.play = lambda _: Reply(302, b"", headers={"Location": f"{script.url}/elsewhere"})
    with pytest.raises(errors.BadAnswer):
        script.client().get(SET)
    assert len(script.asked) == 1


def test_only_the_ca_of_the_server_is_trusted(script: Script) -> None:
    replies(script, NOT_FOUND)
    assert script.client().get(SET) is None
    with pytest.raises(errors.NotReachable) as refused:
        script.client(ca=Authority("another").certificate).get(SET)
    assert isinstance(refused.value.__cause__, NotSent)
    assert len(script.asked) == 1


def test_a_lost_answer_is_asked_for_again_only_if_nothing_was_changed(script: Script) -> None:
    replies(script, Reply(cut=True), NOT_FOUND)
    assert script.client().get(SET) is None
    assert len(script.asked) == 2
    script.asked.clear()
    script.play = lambda _: Reply(cut=True)
    with pytest.raises(errors.NotReachable):
        script.client().apply(named("a"), SETS)
    with pytest.raises(errors.NotReachable):
        script.client().delete(SET, uid="1")
    assert [asked.method for asked in script.asked] == ["PATCH", "DELETE"]


def test_a_busy_server_says_for_how_long(script: Script) -> None:
    script.play = lambda _: Reply(429, b"later", headers={"Retry-After": "7"})
    with pytest.raises(errors.Busy) as busy:
        script.client().get(SET)
    assert busy.value.seconds == 7


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (status(401, "Unauthorized"), errors.Unauthorized),
        (status(403, "Forbidden", 'nodesets "a" is forbidden: User "x" cannot get'), errors.Forbidden),
        (status(403, "Forbidden", WEBHOOK_SAYS), errors.Denied),
        (status(403, "Forbidden", causes=[{"reason": "NamespaceTerminating"}]), errors.ParentMissing),
        (status(400, "BadRequest", WEBHOOK_SAYS), errors.Denied),
        (status(409, "Conflict", causes=[{"reason": "FieldManagerConflict"}]), errors.Conflict),
        (status(409, "Conflict", "Precondition failed: UID"), errors.Moved),
        (status(409, "AlreadyExists"), errors.AlreadyExists),
        (status(422, "Invalid", 'spec.x: Invalid value: "5": too few'), errors.Invalid),
        (status(503, "ServiceUnavailable"), errors.ServerFailed),
        (Reply(502, b"<html>", kind="text/html"), errors.ServerFailed),
        (Reply(200, b"<html>", kind="text/html"), errors.BadAnswer),
        (Reply(403, b"<html>", kind="text/html"), errors.BadAnswer),
    ],
)
def test_each_refusal_has_its_error(script: Script, reply: Reply, error: type[Exception]) -> None:
    script.play = lambda _: reply
    with pytest.raises(error):
        script.client().apply(named("a"), SETS)


def test_a_webhooks_no_is_its_own_and_no_lack_of_rights(script: Script) -> None:
    script.play = lambda _: status(403, "Forbidden", WEBHOOK_SAYS)
    with pytest.raises(errors.Denied) as refused:
        script.client().apply(named("a"), SETS)
    assert refused.value.reason == "WebhookDenied"
    assert "webhook nodeset-v1beta1.kb.io refuses the object: spec.controllerRef is" in refused.value.message
    assert "rbac" not in refused.value.hint


def test_a_refused_value_is_not_repeated_to_people(script: Script) -> None:
    said = (
        'data.key: Invalid value: "hunter2 \\"x\\"": must be base64, spec: Invalid value: {"p":"hunter2"}: no'
    )
    script.play = lambda _: status(422, "Invalid", said)
    with pytest.raises(errors.Invalid) as refused:
        script.client().apply(manifest(kinds.SECRET, "a", {}, namespace="slurm"), kinds.SECRET)
    assert "hunter2" not in refused.value.message
    assert "data.key" in refused.value.message
    assert "must be base64" in refused.value.message


def test_an_access_prints_no_secret_and_only_https_is_spoken(script: Script) -> None:
    access = Access(script.url, b"ca", token="hunter2", key_pem=b"hunter2")
    assert "hunter2" not in repr(access) + repr(script.client(token="hunter2"))
    for server in ("http://10.0.0.1", "https://", "https://a/path", "file:///x"):
        with pytest.raises(PermanentError):
            Access(server, b"ca")
    with pytest.raises(PermanentError):
        Access(script.url, b"")
    with pytest.raises(PermanentError):
        script.client(ca=b"no PEM")


def test_a_change_goes_over_a_connection_that_was_just_answered_on(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.play = lambda asked: Reply(body={**named("a"), "spec": {}})
    client = script.client()
    client.apply(named("a"), SETS)  # no connection is known to be alive yet
    client.get(SET)
    for _ in range(3):
        client.apply(named("a"), SETS)
    assert script.connections == 1
    client.create(named("a"), SETS)  # what may not be done twice never reuses one
    assert script.connections == 2
    monkeypatch.setattr(http, "FRESH", 0.0)
    client.apply(named("a"), SETS)
    assert script.connections == 3


def test_a_context_that_does_not_verify_is_never_used(script: Script) -> None:
    unverified = ssl.create_default_context(cadata=script.authority.certificate.decode())
    http.Outside(script.url, tls=unverified)
    unverified.check_hostname = False
    with pytest.raises(ValueError, match="does not verify"):
        http.Outside(script.url, tls=unverified)


def test_what_is_behind_the_server_gets_the_credential_of_the_server(script: Script) -> None:
    script.play = lambda _: Reply(body={})
    behind = script.client(token="of-kubernetes").behind("slurm", "slurm-restapi", 6820)
    behind.send("GET", "/slurm/v0.0.44/ping", headers={"X-SLURM-USER-TOKEN": "of-slurm"})
    (asked,) = script.asked
    assert asked.path == "/api/v1/namespaces/slurm/services/slurm-restapi:6820/proxy/slurm/v0.0.44/ping"
    assert asked.headers["Authorization"] == "Bearer of-kubernetes"
    assert asked.headers["X-SLURM-USER-TOKEN"] == "of-slurm"


def test_a_name_never_leaves_its_place_in_the_path() -> None:
    assert Ref(SETS, "../x?y", "a/b").path.endswith("/namespaces/a%2Fb/nodesets/..%2Fx%3Fy")
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError, match="part of a path"):
            _ = Ref(SETS, bad, "slurm").path
