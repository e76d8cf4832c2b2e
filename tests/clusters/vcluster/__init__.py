"""Drivers that make control planes: the vCluster Platform, and the chart through GitOps."""
