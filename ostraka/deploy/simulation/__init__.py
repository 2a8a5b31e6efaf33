"""A whole federation on one machine: every site with its own process, certificate, ports and data."""
