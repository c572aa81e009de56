"""Models that look at no pixels, or only at a depth map: what any real model must beat."""
