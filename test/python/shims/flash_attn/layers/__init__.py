"""Layers that tests import."""
