"""Makes the rows of submits, not saved yet; what jobs of the same draft share is worked out once."""

from __future__ import annotations

import uuid
from copy import copy

import msgspec

from clusters.clients.slurmrest.models import SubmitRequest
from jobs.models import Submission
from jobs.observer.marks import add_mark
from jobs.services import requests
from jobs.services.accounts import Account
from jobs.services.drafts import Draft
from jobs.words import in_english
from portal.lib import clock
from portal.lib.types import JSONDict
from tenants.ids import short_name
from tenants.models import User


class Maker:
    """Makes submits of one draft by one account: they differ in their keys and marks only."""

    def __init__(self, user: User, account: Account, draft: Draft) -> None:
        identity = account.identity
        self._comment = str(draft.values.get("comment") or "")
        self._request, origins = requests.assemble(draft, account=identity.name, home=account.home, mark="")
        self._pattern = Submission(
            tenant=identity.cluster.tenant,
            cluster=identity.cluster,
            user=user,
            identity=identity,
            request=requests.to_json(self._request),
            origins=origins,
            script=draft.script,
            notes=in_english(draft.notes),
            sealed_environment=requests.seal_environment(self._request),
        )
        self.detail: JSONDict = {  # what the audit trail says of each
            "cluster": identity.cluster.name,
            "name": self._request.name,
            "partition": self._request.partition,
        }

    def make(self, key: uuid.UUID) -> tuple[Submission, SubmitRequest]:
        """The row, and what is to be sent."""
        submission = copy(self._pattern)
        submission.pk = uuid.uuid4()
        submission.key, submission.mark, submission.sent_at = key, short_name(submission.pk), clock.now()
        comment = add_mark(self._comment, submission.mark)
        return submission, msgspec.structs.replace(self._request, comment=comment)
