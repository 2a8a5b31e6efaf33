"""Site operations on a kit: make keys, install certificates, check, and watch its health."""
