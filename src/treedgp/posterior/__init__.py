"""What came out of the sampler: draws, predictions, summaries, diagnostics."""
