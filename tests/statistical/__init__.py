"""Statistical correctness of the sampler: prior recovery, joint-distribution tests, calibration."""
