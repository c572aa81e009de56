"""Classifiers and segmenters taught with removed objects: drawn scenes and their edits, losses and tasks."""
