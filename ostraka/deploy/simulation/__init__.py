"""A whole federation on one machine: every site its own process, certificate, ports and data."""
