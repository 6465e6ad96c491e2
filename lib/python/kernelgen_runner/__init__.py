"""The Python runner: builds one ModelNew and calls it. Untrusted once the candidate is imported; judges nothing."""
