"""Teach a ViewNet: views of CAD models drawn for one use, targets up to each shape's symmetry, losses, scores."""
