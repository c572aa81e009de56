"""The viewpoint exam: from which side is an object seen? As PASCAL3D+ asks, with intervals and blind priors."""
