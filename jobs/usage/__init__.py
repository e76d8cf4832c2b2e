"""What a tenant's jobs used, by day, cluster, member, account and partition; and what was left idle."""
