"""Which accounts and QOS a cluster has, who may use them, and what they allow; as its accounting told."""
