"""The guardian as a server: its services, lease, timers and metrics."""
