"""The Netris client and fabric driver, against a controller with state that speaks HTTP over TLS."""
