"""What is kept with a submit is English, whatever language its page has, and is shown in the reader's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import translation

from clusters.models import Cluster
from jobs.models import Submission
from jobs.words import told
from tenants.models import User
from tests.builders import sign_in
from tests.jobs.fakes import FakeSlurm
from tests.portal import pseudo

pytestmark = pytest.mark.django_db
SCRIPT = b"#!/bin/bash\r\necho hi\r\n#SBATCH --time=5\r\n"


@pytest.fixture
def reader(client: Client, alice: User) -> Iterator[Client]:
    """Alice, whose browser asks for the pseudo language."""
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = pseudo.LANGUAGE
    with pseudo.speaking(), translation.override("en"):
        yield sign_in(client, alice)


def submit(reader: Client, cluster: Cluster) -> str:
    """The page on which the submit ends."""
    file = SimpleUploadedFile("train.sh", SCRIPT)
    answer = reader.post(
        f"/t/aurora-lab/clusters/{cluster.pk}/jobs/new/", {"key": str(uuid.uuid4()), "upload": file}
    )
    assert answer.status_code == 302
    return str(reader.get(answer["Location"]).content.decode())


def test_notes_of_a_script(reader: Client, cluster: Cluster, slurm: FakeSlurm) -> None:
    page = submit(reader, cluster)
    late = "#SBATCH below the first command is ignored, as by sbatch."
    assert Submission.objects.get().notes == ["Windows line ends (CR LF) became LF.", f"Line 3: {late}"]
    assert "⟦Windows line ends (CR LF) became LF.⟧" in page
    assert f"⟦{late}⟧" in page
    assert "⟦Line ⟧3" in page


def test_a_lost_answer(reader: Client, cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.lost = True
    page = submit(reader, cluster)
    assert Submission.objects.get().message == "The answer was lost on the way."
    assert "⟦The answer was lost on the way.⟧" in page


def test_slurms_own_words_stay() -> None:
    with pseudo.speaking(), translation.override(pseudo.LANGUAGE):
        assert told("Requested node configuration is not available") == (
            "Requested node configuration is not available"
        )
        assert told("") == ""
