"""Sign-in through OpenID Connect: the only way in."""
