"""What joins the apps: middleware, error pages, home, sockets, the operators' admin site."""
