"""What reads confidential rows once and returns a measured value. A proof file stands beside each mechanism."""

from tacita.mechanisms import eree as eree

__all__ = ["eree"]
