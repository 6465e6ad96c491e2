"""The judge: makes inputs and expected outputs, admits tasks, and compares. Trusted; never sees candidate code."""
