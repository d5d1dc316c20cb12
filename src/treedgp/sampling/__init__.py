"""How it is sampled: chains, chunks, progress."""
