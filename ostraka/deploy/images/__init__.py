"""The container images: the packages of each role, their lock files, builds and bills of materials."""
