from tests.browser import chromium

__all__ = ["chromium"]
