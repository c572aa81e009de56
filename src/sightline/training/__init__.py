"""Training: scenes as batches, augmentation, losses, the loop. Imported when a training asks for it, not before."""
