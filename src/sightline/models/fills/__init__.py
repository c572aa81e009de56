"""Fills that are networks: `sightline.edits.open_fill` imports them when a file is named."""
