"""One small file for each peer that the speed benchmarks compare with."""
