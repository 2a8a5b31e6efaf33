"""What parties declare and report: manifests, receipts, and their standing."""
