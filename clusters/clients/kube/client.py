"""A client of one Kubernetes API server.

Over portal.lib.http and not the `kubernetes` package, which follows redirects, reads kubeconfigs that run
programs, has no limit on bodies and no deadline over a whole exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote, urlencode

import msgspec

from clusters.clients.kube import answers, discovery, errors, running
from clusters.clients.kube.models import Access, Kind, Manifest, Ref, ref_of
from clusters.clients.kube.running import Ended
from clusters.clients.kube.tls import context_for
from portal.lib.http import MEBIBYTE, Answer, NoAnswer, NotSent, Outside, TooLarge

MANAGER = "freehold"  # of the fields that we set; never changed, or what we set before is nobody's
PAGE = 500
MOST_PAGES = 200
MOST_STARTS = 3
LIMIT = 64 * MEBIBYTE
SAME_TWICE = frozenset({"PATCH", "DELETE"})  # applied, or deleted by uid
JSON = "application/json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML


class KubeClient:
    """Speaks to one API server. Safe to share between threads. Raises the errors of clients.kube.errors."""

    def __init__(self, access: Access, *, timeout: float = 15.0, connections: int = 4) -> None:
        self.access = access
        self._tls = context_for(access)
        self._outside = Outside(
            access.server + access.prefix, timeout=timeout, tls=self._tls, connections=connections
        )
        self._dry: dict[Kind, bool] = {}

    def __repr__(self) -> str:
        return f"KubeClient({self.access.server}{self.access.prefix})"

    # -- looking

    def get(self, ref: Ref) -> Manifest | None:
        """The object, or None after a positive answer that there is none of that name."""
        answer = self._read(ref.path)
        if answer.status == 404 and self._is_absent(ref, answer):
            return None
        return answers.one(answer, ref)

    def list(
        self, kind: Kind, *, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> tuple[Manifest, ...]:
        """All objects, of one namespace or of all; whole or an error. A kind that is not served has none.

        Each has its apiVersion and kind, which servers leave out in lists.
        """
        query = {"limit": str(PAGE)}
        if labels:
            query["labelSelector"] = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        for _ in range(MOST_STARTS):
            found = self._whole_list(kind, namespace, query)
            if found is not None:
                return found
        raise errors.BadAnswer("The list changed too fast to be read as a whole.")

    def version(self) -> str:
        """The server's release, e.g. "v1.35.4"."""
        answer = answers.decoded(self._read("/version"))
        return str(answer.get("gitVersion", ""))

    def can_dry_run(self, kind: Kind) -> bool:
        """Whether the server's own description lists `dryRun` for applying this kind; asked once."""
        if kind not in self._dry:
            self._dry[kind] = discovery.lists_dry_run(self._described, kind)
        return self._dry[kind]

    def serves(self, kind: Kind) -> bool:
        """Whether the server has this kind now, e.g. because its CRD is established."""
        return discovery.serves(self._described, kind)

    # -- changing

    def apply(
        self,
        manifest: Manifest,
        kind: Kind,
        *,
        dry_run: bool = False,
        force: bool = True,
        subresource: str = "",
    ) -> Manifest:
        """Server-side apply: what we leave out and set before is taken away, others' fields stay.

        With `metadata.uid` in it, only that very object is changed. Unknown fields are refused. `subresource`
        is for a status that nobody else writes, e.g. that of a simulated Node.
        """
        query = {
            "fieldManager": MANAGER,
            "fieldValidation": "Strict",
            "force": "true" if force else "false",
            **({"dryRun": "All"} if dry_run else {}),
        }
        ref = ref_of(manifest, kind)
        path = f"{ref.path}/{quote(subresource, safe='')}" if subresource else ref.path
        return self._changed(self._send("PATCH", f"{path}?{urlencode(query)}", manifest, APPLY), kind)

    def create(self, manifest: Manifest, kind: Kind) -> Manifest:
        """Make a new object; AlreadyExists if there is one of that name."""
        ref = ref_of(manifest, kind)
        query = urlencode({"fieldManager": MANAGER, "fieldValidation": "Strict"})
        return self._changed(self._send("POST", f"{kind.path(ref.namespace)}?{query}", manifest), kind)

    def post(self, ref: Ref, subresource: str, body: Manifest) -> Manifest:
        """Ask a subresource, e.g. "token" of a ServiceAccount; the answer may hold a secret."""
        return answers.decoded(self._send("POST", f"{ref.path}/{quote(subresource, safe='')}", body))

    def delete(self, ref: Ref, *, uid: str, propagation: str = "Background") -> None:
        """Ask for the removal of this very object; absent is fine. Finalizers may hold it for long."""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid},
            "propagationPolicy": propagation,
        }
        answer = self._send("DELETE", ref.path, options)
        if not (answer.status == 404 and self._is_absent(ref, answer)):
            answers.decoded(answer)

    # -- others behind this server

    def proxy(self, namespace: str, service: str, port: int, *, scheme: str = "http") -> str:
        """The path, from the server's root, under which a Service's own API is reached."""
        name = f"{'https:' if scheme == 'https' else ''}{service}:{port}"
        where = f"/api/v1/namespaces/{quote(namespace, safe='')}/services/{quote(name, safe=':')}"
        return f"{self.access.prefix}{where}/proxy"

    def behind(self, namespace: str, service: str, port: int, *, scheme: str = "http") -> Outside:
        """A session with a Service through the server's proxy, e.g. for a RestGateway."""
        return self.through(self.access.server + self.proxy(namespace, service, port, scheme=scheme))

    def through(self, address: str, *, timeout: float = 10.0) -> Outside:
        """A session with an address below this server's own, with this server's credential."""
        if not address.startswith(f"{self.access.server}{self.access.prefix}/api/"):
            raise ValueError("The address is not behind this API server.")
        return Outside(address, tls=self._tls, headers=self._headers(), timeout=timeout)

    def run(
        self,
        pod: Ref,
        container: str,
        command: Sequence[str],
        *,
        timeout: float,
        take: Callable[[bytes], object],
    ) -> Ended:
        """Run a program in a pod's container; see clients.kube.running for what it raises."""
        return running.run(self.access, self._tls, pod, container, command, timeout=timeout, take=take)

    def close(self) -> None:
        """Give the connections back."""
        self._outside.close()

    # -- inside

    def _whole_list(
        self, kind: Kind, namespace: str, query: Mapping[str, str]
    ) -> tuple[Manifest, ...] | None:
        found: list[Manifest] = []
        token = ""
        for _ in range(MOST_PAGES):
            asked = {**query, "continue": token} if token else query
            answer = self._read(f"{kind.path(namespace)}?{urlencode(asked)}")
            if answer.status == 410 and token:
                return None  # the pages before are outdated
            if answer.status == 404 and not errors.status_of(answer).kind and not self.serves(kind):
                return ()
            page = answers.decoded(answer)
            found += answers.items(page, kind)
            token = str((page.get("metadata") or {}).get("continue") or "")
            if not token:
                return tuple(found)
        raise errors.BadAnswer("The list does not end.")

    def _changed(self, answer: Answer, kind: Kind) -> Manifest:
        if answer.status == 404 and not errors.status_of(answer).kind and not self.serves(kind):
            raise errors.ParentMissing(
                f"The API server does not know {kind.resource} yet.", reason="KindMissing"
            )
        return answers.decoded(answer)

    def _is_absent(self, ref: Ref, answer: Answer) -> bool:
        status = errors.status_of(answer)
        if not status.kind:
            return not self.serves(ref.kind)
        about = status.details
        return (
            status.reason == "NotFound"
            and about is not None
            and about.name == ref.name
            and about.kind in {ref.kind.plural, ref.kind.kind, ref.kind.kind.lower()}
        )

    def _described(self, path: str) -> Manifest | None:
        answer = self._read(path)
        return None if answer.status == 404 else answers.decoded(answer)

    def _read(self, path: str, *, again: bool = True) -> Answer:
        """A GET; asked once more if the connection was lost."""
        try:
            return self._outside.send("GET", path, headers=self._headers(), limit=LIMIT)
        except NoAnswer as error:
            if again and not error.timed_out:
                return self._read(path, again=False)
            raise errors.NotReachable(error.message) from error
        except NotSent as error:
            raise errors.NotReachable(error.message) from error
        except TooLarge as error:
            raise errors.BadAnswer(error.message) from error

    def _send(self, method: str, path: str, body: Manifest, kind: str = JSON) -> Answer:
        headers = {**self._headers(), "Content-Type": kind}
        try:
            return self._outside.send(
                method,
                path,
                headers=headers,
                body=msgspec.json.encode(body),
                limit=LIMIT,
                reuse=method in SAME_TWICE,
            )
        except (NoAnswer, NotSent) as error:
            raise errors.NotReachable(error.message) from error
        except TooLarge as error:
            raise errors.BadAnswer(error.message) from error

    def _headers(self) -> dict[str, str]:
        token = self.access.token
        return {"Accept": JSON, **({"Authorization": f"Bearer {token}"} if token else {})}
