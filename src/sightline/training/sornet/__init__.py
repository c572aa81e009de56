"""SORNet's training: its plan, scenes, losses and scores. `SornetTask` hands them to `training.fit.fit`."""
