"""What questions are made of: vocabularies, regions, questions in structured form and in English."""
