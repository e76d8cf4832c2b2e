"""Who: people, tenants, rights, sign-in, scoping, commands, audit, live topics."""
