"""Deformable part models: features (`hog`), filters (`filters`), how they find objects (`detector`, `model`)."""
