"""Load on a guardian: many light parties, real certificates, TLS, ledger and noise (docs/scale-measured.md)."""
