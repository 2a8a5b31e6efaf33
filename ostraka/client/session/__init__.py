"""A labelling session: tickets, votes and tallies, batch by batch."""
