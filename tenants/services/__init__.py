"""Every change of people and tenants: one command each."""
