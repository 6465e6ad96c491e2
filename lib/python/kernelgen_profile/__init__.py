"""Calls a module under a profiler. Started by lib/profile; advisory: nothing that is said here is a verdict."""
