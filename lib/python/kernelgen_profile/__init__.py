"""Calls a module under a profiler. Started by lib/profile. Its results are advice and no verdict."""
