"""What parties declare and tell: manifests, receipts, and their standing."""
