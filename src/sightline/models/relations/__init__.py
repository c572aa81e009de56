"""Trained models of the relations exam: cues, networks on numpy alone, and orders without contradictions."""
