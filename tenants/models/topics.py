"""The version of each live topic, raised in the transaction that changes what it shows."""

from __future__ import annotations

from django.db import models


class TopicVersion(models.Model):
    """`topic` is the name made by tenants.live.topics.Topic; a higher version means "changed"."""

    topic = models.CharField(max_length=99, primary_key=True)
    version = models.BigIntegerField(default=1)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.topic} v{self.version}"
