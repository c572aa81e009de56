"""Training of networks that relate two objects: the MLP and its swap-equivariant kin."""
