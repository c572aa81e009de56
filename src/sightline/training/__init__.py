"""Training: an engine that knows no network, and one folder per network that is taught.

`fit` runs a `TrainingTask` in a folder: batches by number, optimiser and schedule, log, state, exact resume.
Imported when a training asks for it, not before; only `fit`, `learner` and `log` need Lightning.
"""
