"""Provisioning, the local simulation and the command line."""
