"""Trace files for the katas, made by the real profiler: ``python -m katas.lecture07.traces``."""
