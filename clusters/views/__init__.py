"""Pages of orders and clusters; they parse, call one service and render."""
