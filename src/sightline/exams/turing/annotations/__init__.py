"""Annotated images as questions see them, and what every question means of one."""
