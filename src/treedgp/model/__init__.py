"""What is sampled: priors, the description of a model, and the data as the core sees them."""
