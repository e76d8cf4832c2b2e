"""Pages of people and tenants; they parse, call one service and render."""
