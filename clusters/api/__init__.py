"""The API of catalogue, orders and clusters."""
