"""Code that the judge and the Python runner share: framing, process start, names of dtypes, values as JSON."""
