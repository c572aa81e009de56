"""People in the Turing exam: operators who tell the truth, those who are examined, and the proctor of a test."""
