"""The container images: which packages each role's holds, their lock files, builds and bills of materials."""
