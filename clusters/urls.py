"""Addresses of the clusters pages."""

from __future__ import annotations

from django.urls import URLPattern, path

from clusters.views import clusters, endings, kubeconfigs, orders, resizing

urlpatterns: list[URLPattern] = [
    path("orders/", orders.orders, name="orders"),
    path("orders/new/", orders.order_new, name="order-new"),
    path("orders/summary/", orders.order_summary, name="order-summary"),
    path("orders/<uuid:pk>/", orders.order, name="order"),
    path("orders/<uuid:pk>/cancel/", orders.order_cancel, name="order-cancel"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/<uuid:pk>/", clusters.cluster, name="cluster"),
    path("clusters/<uuid:pk>/utilisation/", clusters.cluster_utilisation, name="cluster-utilisation"),
    path("clusters/<uuid:pk>/nodes/", clusters.cluster_nodes, name="cluster-nodes"),
    path("clusters/<uuid:pk>/steps/", clusters.cluster_steps, name="cluster-steps"),
    path("clusters/<uuid:pk>/events/", clusters.cluster_events, name="cluster-events"),
    path("clusters/<uuid:pk>/volcano/", clusters.cluster_volcano, name="cluster-volcano"),
    path("clusters/<uuid:pk>/isolation/", clusters.cluster_isolation, name="cluster-isolation"),
    path("clusters/<uuid:pk>/access/", clusters.cluster_access, name="cluster-access"),
    path("clusters/<uuid:pk>/kubeconfigs/", kubeconfigs.kubeconfig_issue, name="kubeconfig-issue"),
    path("kubeconfigs/<uuid:pk>/revoke/", kubeconfigs.kubeconfig_revoke, name="kubeconfig-revoke"),
    path("clusters/<uuid:pk>/settings/", endings.cluster_settings, name="cluster-settings"),
    path("clusters/<uuid:pk>/resize/", resizing.resize, name="resize"),
    path("clusters/<uuid:pk>/resize/summary/", resizing.resize_summary, name="resize-summary"),
    path("clusters/<uuid:pk>/terminate/", endings.terminate, name="terminate"),
]
