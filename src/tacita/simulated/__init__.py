"""Simulated files that stand for confidential ones: in the demonstration, in studies, benchmarks and tests."""
