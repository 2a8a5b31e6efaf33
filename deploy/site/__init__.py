"""What an operator does with a kit: make keys, install certificates, check, and watch its health."""
