"""Load on a guardian: many light parties, real certificates, TLS, ledger, noise (docs/scale-measured.md)."""
