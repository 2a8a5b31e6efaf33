"""What both ends of a relay share, and the agent by which a site that only calls out is reached."""
