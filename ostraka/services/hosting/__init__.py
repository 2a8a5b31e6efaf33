"""Hosting of a party's teachers: one device for all sessions, bounded concurrency, hot reloads."""
