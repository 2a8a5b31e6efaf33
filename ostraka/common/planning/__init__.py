"""Worst-case cost planning, before anything is spent; nothing here depends on a vote."""
