"""Machines that the vCluster Platform picks, on a real API server behind the Platform's front door."""
