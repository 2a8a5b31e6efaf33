"""Startup kits of a federation, what its CA signs and revokes, and whole federations for trials."""

from ostraka.deploy.provisioning.provision import FederationFolders, provision, provision_local

__all__ = ["FederationFolders", "provision", "provision_local"]
