"""What both ends of a relay share, and the agent through which a site that only calls out is reached."""
