"""What follows from answers by the vocabulary alone: profiles of objects, orders of relations, searches."""
