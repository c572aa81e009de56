"""Pixels for worlds: the fast back end (own kernels, CPU and CUDA) and Blender (Cycles, in its own environment)."""
