"""The Turing exam: an engine that asks yes–no questions whose answers cannot be guessed from those before."""
