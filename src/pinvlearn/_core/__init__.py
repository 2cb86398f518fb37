"""What every room stands on: arrays of any kind, their products, BLAS, threads, files, progress."""
