"""Calls a module under a profiler or a sanitizer. Started by lib/profile. Its results are no verdict: the tools outside have them."""
