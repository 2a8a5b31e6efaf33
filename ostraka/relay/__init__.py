"""The relay: passes callers on to sites that only call out, without reading what they say."""
