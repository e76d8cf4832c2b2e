"""Addresses of the API about orders and clusters, below /api/v1/t/<tenant>/."""

from __future__ import annotations

from django.urls import URLPattern, path

from clusters.api import catalogue, clusters, inside, kubeconfigs, orders, quotes, resizing, volcano

urlpatterns: list[URLPattern] = [
    path("catalogue/", catalogue.CatalogueApi.as_view(), name="api-catalogue"),
    path("orders/", orders.OrdersApi.as_view(), name="api-orders"),
    path("orders/quote/", quotes.QuoteApi.as_view(), name="api-order-quote"),
    path("orders/<uuid:pk>/", orders.OrderApi.as_view(), name="api-order"),
    path("orders/<uuid:pk>/cancel/", orders.OrderCancelApi.as_view(), name="api-order-cancel"),
    path("clusters/", clusters.ClustersApi.as_view(), name="api-clusters"),
    path("clusters/<uuid:pk>/", clusters.ClusterApi.as_view(), name="api-cluster"),
    path("clusters/<uuid:pk>/terminate/", clusters.TerminateApi.as_view(), name="api-cluster-terminate"),
    path("clusters/<uuid:pk>/resize/", resizing.ResizeApi.as_view(), name="api-cluster-resize"),
    path("clusters/<uuid:pk>/nodes/", inside.NodesApi.as_view(), name="api-cluster-nodes"),
    path("clusters/<uuid:pk>/steps/", inside.StepsApi.as_view(), name="api-cluster-steps"),
    path("clusters/<uuid:pk>/events/", inside.StepEventsApi.as_view(), name="api-cluster-events"),
    path("clusters/<uuid:pk>/volcano/", volcano.VolcanoApi.as_view(), name="api-cluster-volcano"),
    path("clusters/<uuid:pk>/slurm/", inside.SlurmApi.as_view(), name="api-cluster-slurm"),
    path(
        "clusters/<uuid:pk>/kubeconfigs/",
        kubeconfigs.KubeconfigsApi.as_view(),
        name="api-cluster-kubeconfigs",
    ),
    path(
        "kubeconfigs/<uuid:pk>/revoke/",
        kubeconfigs.KubeconfigRevokeApi.as_view(),
        name="api-kubeconfig-revoke",
    ),
]
