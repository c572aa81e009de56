"""``sightline models``: what can sit an exam by name?"""

from __future__ import annotations

from sightline.cli.console import Json, out, print_json, table


def command(json: Json = False) -> None:
    """List the models known by name. Any file.py:object or predictions.csv will do as well."""
    from sightline.models import available

    known = available()
    if json:
        print_json([{"name": m.name, "skills": list(m.skills), "description": m.description} for m in known])
        return
    listing = table("", "name", "skills", "what it does")
    listing.columns[1].justify = listing.columns[2].justify = "left"
    for m in known:
        listing.add_row(m.name, ", ".join(m.skills), m.description)
    out.print(listing)
