"""Template tags of orders and clusters."""
