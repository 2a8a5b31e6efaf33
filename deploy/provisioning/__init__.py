"""Keys, certificates and configuration for a whole federation."""

from deploy.provisioning.provision import Federation, provision

__all__ = ["Federation", "provision"]
