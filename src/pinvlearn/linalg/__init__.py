"""Linear algebra: arrays in, frozen results out; knows nothing of estimators."""
