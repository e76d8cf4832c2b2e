"""Live pages: topics, versions, the fragments they show and the socket that carries them."""
