"""Who works on blocks of rows: threads here, Dask or Spark elsewhere, one fold each."""
