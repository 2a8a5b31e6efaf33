"""Code shared by all roles."""
