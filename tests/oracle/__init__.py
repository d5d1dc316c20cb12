"""Slow, direct NumPy transcription of the model: what the C++ core is judged against."""
