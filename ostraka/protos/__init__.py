"""The wire protocol: versioned definitions and their generated stubs."""
