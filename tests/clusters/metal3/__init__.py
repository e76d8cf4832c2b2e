"""The machines driver on Metal3, against a real API server with Metal3's own CRDs."""
