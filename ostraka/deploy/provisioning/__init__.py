"""Startup kits of a federation, signing and revoking by its CA, and whole federations for trials."""

from ostraka.deploy.provisioning.provision import FederationFolders, provision, provision_local

__all__ = ["FederationFolders", "provision", "provision_local"]
