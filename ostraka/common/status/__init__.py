"""Certificates and servers in a site's status command."""
