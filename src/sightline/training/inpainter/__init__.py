"""The in-painter's training: pictures of worlds with and without an object, holes, losses and the task."""
