"""``sightline models``: what can sit an exam by name?"""

from __future__ import annotations

from sightline.cli.console import Json, out, print_json, table


def listing() -> str:
    """What the help ends with: the models there are, by what they can do."""
    from sightline.models import available

    known = available()
    groups = dict.fromkeys(skills for m in known if (skills := ", ".join(m.skills)))
    names = {g: ", ".join(m.name for m in known if ", ".join(m.skills) == g) for g in groups}
    return "Known by name: " + "; ".join(f"{listed} ({skill})" for skill, listed in names.items()) + "."


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
