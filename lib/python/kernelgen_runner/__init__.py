"""The Python runner: builds one ModelNew and calls it. It is untrusted once the candidate is imported, and makes no judgement."""
