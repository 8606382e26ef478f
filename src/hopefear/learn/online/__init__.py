"""Online tuners: an update for every few sentences."""
