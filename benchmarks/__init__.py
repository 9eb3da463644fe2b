"""Ratios against what a user would pick instead, measured in one run: `python -m benchmarks --help`."""
