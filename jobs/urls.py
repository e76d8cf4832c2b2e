"""Addresses of the jobs pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from jobs.limits import pages as limit_pages
from jobs.rules import pages as rule_pages
from jobs.usage import pages as usage_pages
from jobs.web import (
    acts,
    arrays,
    job,
    lists,
    nodes,
    notifications,
    output,
    partitions,
    quick,
    reservations,
    submission,
    submit,
    templates,
    views_saved,
)

urlpatterns: list[URLPattern] = [
    path("jobs/", lists.jobs, name="jobs"),
    path("usage/", usage_pages.usage, name="usage"),
    path("usage/file/", usage_pages.usage_file, name="usage-file"),
    path("usage/idle/", usage_pages.usage_worst, name="usage-worst"),
    path("jobs/new/", submit.job_start, name="job-start"),
    path("jobs/quick/", quick.job_quick, name="job-quick"),
    path("jobs/views/", views_saved.views, name="views"),
    path("jobs/views/<uuid:pk>/", views_saved.view_rename, name="view-rename"),
    path("jobs/views/<uuid:pk>/delete/", views_saved.view_delete, name="view-delete"),
    path("jobs/<uuid:pk>/", job.job, name="job"),
    path("jobs/<uuid:pk>/tasks/", arrays.job_tasks, name="job-tasks"),
    path("jobs/act/", acts.jobs_act, name="jobs-act"),
    path("jobs/<uuid:pk>/act/<slug:act>/", acts.job_act, name="job-act"),
    path("jobs/<uuid:pk>/cancel/", job.job_cancel, name="job-cancel"),
    path("jobs/<uuid:pk>/output/", output.job_output, name="job-output"),
    path("jobs/<uuid:pk>/output/file/", output.job_output_file, name="job-output-file"),
    path("jobs/<uuid:pk>/notify/", notifications.job_notify, name="job-notify"),
    path("notifications/", notifications.notifications, name="notifications"),
    path("notifications/read/", notifications.notifications_read, name="notifications-read"),
    path("notifications/bell/", notifications.notifications_bell, name="notifications-bell"),
    path("templates/", templates.templates, name="templates"),
    path("templates/new/", templates.template_new, name="template-new"),
    path("templates/<slug:key>/", templates.template, name="template"),
    path("templates/<slug:key>/use/", templates.template_use, name="template-use"),
    path("templates/<slug:key>/change/", templates.template_edit, name="template-edit"),
    path("templates/<slug:key>/delete/", templates.template_delete, name="template-delete"),
    path("submissions/<uuid:pk>/", submission.submission, name="submission"),
    path("submissions/<uuid:pk>/again/", submission.submission_again, name="submission-again"),
    path("clusters/<uuid:pk>/limits/", limit_pages.limits, name="limits"),
    path("clusters/<uuid:pk>/limits/<uuid:member>/", limit_pages.limit, name="limit"),
    path("clusters/<uuid:pk>/queue/", lists.queue, name="queue"),
    path("clusters/<uuid:pk>/nodes/<str:name>/", nodes.node, name="node"),
    path("clusters/<uuid:pk>/reservations/", reservations.reservations, name="reservations"),
    path("clusters/<uuid:pk>/qos/", rule_pages.qos, name="qos"),
    path("clusters/<uuid:pk>/partitions/", partitions.partitions, name="partitions"),
    path("clusters/<uuid:pk>/partitions/<str:name>/", partitions.partition, name="partition"),
    path("clusters/<uuid:pk>/jobs/new/", submit.job_new, name="job-new"),
]
