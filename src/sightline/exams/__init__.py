"""The exams."""
