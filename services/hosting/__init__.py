"""How a party hosts its teachers: one device for all sessions, bounded places, reloads without a stop."""
