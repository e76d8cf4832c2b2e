"""What the checks are made against."""

from __future__ import annotations

import pytest

from clusters.models import Cluster
from jobs.services.capacity import ClusterView, view_of


@pytest.fixture
def view(cluster: Cluster) -> ClusterView:
    return view_of(cluster)
