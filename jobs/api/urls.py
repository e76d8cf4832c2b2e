"""Addresses of the API about jobs, below /api/v1/t/<tenant>/."""

from __future__ import annotations

from django.urls import URLPattern, path

from jobs.api import acts, batch, jobs, limits, notifications, output, qos, submit, templates, usage, views

urlpatterns: list[URLPattern] = [
    path("jobs/", jobs.JobsApi.as_view(), name="api-jobs"),
    path("jobs/<uuid:pk>/", jobs.JobApi.as_view(), name="api-job"),
    path("jobs/act/", acts.JobsActApi.as_view(), name="api-jobs-act"),
    path("jobs/<uuid:pk>/act/", acts.JobActApi.as_view(), name="api-job-act"),
    path("jobs/<uuid:pk>/cancel/", jobs.JobCancelApi.as_view(), name="api-job-cancel"),
    path("jobs/<uuid:pk>/events/", jobs.JobEventsApi.as_view(), name="api-job-events"),
    path("jobs/<uuid:pk>/output/", output.OutputApi.as_view(), name="api-job-output"),
    path("jobs/<uuid:pk>/output/find/", output.FindApi.as_view(), name="api-job-output-find"),
    path("jobs/<uuid:pk>/sent/", submit.SentApi.as_view(), name="api-job-sent"),
    path("usage/", usage.UsageApi.as_view(), name="api-usage"),
    path("usage/idle/", usage.IdleApi.as_view(), name="api-usage-idle"),
    path("views/", views.ViewsApi.as_view(), name="api-views"),
    path("views/<uuid:pk>/", views.ViewApi.as_view(), name="api-view"),
    path("notifications/", notifications.NotificationsApi.as_view(), name="api-notifications"),
    path("notifications/read/", notifications.NotificationsReadApi.as_view(), name="api-notifications-read"),
    path(
        "notifications/settings/",
        notifications.NotificationSettingsApi.as_view(),
        name="api-notification-settings",
    ),
    path("templates/", templates.TemplatesApi.as_view(), name="api-templates"),
    path("templates/<uuid:pk>/", templates.TemplateApi.as_view(), name="api-template"),
    path("submissions/", submit.SubmissionsApi.as_view(), name="api-submissions"),
    path("submissions/<uuid:pk>/", submit.SubmissionApi.as_view(), name="api-submission"),
    path("submissions/<uuid:pk>/again/", submit.SendAgainApi.as_view(), name="api-submission-again"),
    path("clusters/<uuid:pk>/limits/", limits.LimitsApi.as_view(), name="api-limits"),
    path("clusters/<uuid:pk>/limits/<uuid:member>/", limits.LimitApi.as_view(), name="api-limit"),
    path("clusters/<uuid:pk>/qos/", qos.QosApi.as_view(), name="api-qos"),
    path("clusters/<uuid:pk>/queue/", jobs.QueueApi.as_view(), name="api-cluster-queue"),
    path("clusters/<uuid:pk>/jobs/", submit.SubmitApi.as_view(), name="api-job-submit"),
    path("clusters/<uuid:pk>/jobs/check/", submit.SubmitCheckApi.as_view(), name="api-job-check"),
    path("clusters/<uuid:pk>/jobs/many/", batch.SubmitManyApi.as_view(), name="api-jobs-submit-many"),
]
