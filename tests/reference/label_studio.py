"""Read an export for Label Studio as its own converter does: by the labelling interface, boxes cut to whole pixels.

Written from the documented format of tasks (https://labelstud.io/guide/task_format) and of the tags
``RectangleLabels``, ``Relations`` and ``Image``; a region counts if its ``from_name`` is a tag of the interface
that labels the tag named by ``to_name``.
"""

import json
import urllib.parse
import xml.etree.ElementTree as ET


def read(folder):
    """Image file → (width, height), [(category, x, y, w, h)], [(subject place, predicate, object place)]."""
    interface = ET.parse(folder / "interface.xml").getroot()
    assert interface.tag == "View"
    images = {tag.get("name"): tag.get("value") for tag in interface.iter("Image")}
    tags = {
        tag.get("name"): (tag.get("toName"), {label.get("value") for label in tag})
        for tag in interface.iter("RectangleLabels")
    }
    predicates = {tag.get("value") for group in interface.iter("Relations") for tag in group}
    found = {}
    for task in json.loads((folder / "tasks.json").read_text(encoding="utf-8")):
        sources = [*task.get("annotations", []), *task.get("predictions", [])]
        assert len(sources) == 1
        boxes, places, links, size = [], {}, [], None
        for region in sources[0]["result"]:
            if region["type"] == "relation":
                links.append(region)
                continue
            to_name, labels = tags[region["from_name"]]
            assert region["to_name"] == to_name
            assert region["type"] == "rectanglelabels"
            value = region["value"]
            (category,) = value["rectanglelabels"]
            assert category in labels
            assert 0 <= value["x"] <= 100
            assert 0 <= value["y"] <= 100
            assert value["rotation"] == 0
            size = width, height = region["original_width"], region["original_height"]
            assert region["id"] not in places
            places[region["id"]] = len(boxes)
            corners = [int(value[side] / 100 * of) for side, of in (("x", width), ("y", height))]
            sides = [int(value[side] / 100 * of) for side, of in (("width", width), ("height", height))]
            boxes.append((category, *corners, *sides))
        told = []
        for link in links:
            (predicate,) = link["labels"]
            assert predicate in predicates
            assert link["direction"] in ("left", "right", "bi")
            told.append((places[link["from_id"]], predicate, places[link["to_id"]]))
        (key,) = {field for tag in images for field in [images[tag].removeprefix("$")]}
        query = urllib.parse.urlsplit(task["data"][key])
        assert query.path == "/data/local-files/"
        (file,) = urllib.parse.parse_qs(query.query)["d"]
        assert (folder / file).is_file()
        found[file] = (size, boxes, told)
    return found
