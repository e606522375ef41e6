"""Tests of whole services."""
