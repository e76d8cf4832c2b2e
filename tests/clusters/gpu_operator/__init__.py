"""NVIDIA's GPU Operator."""
