"""What questions may speak of: types, their attributes, relations between them, and designated regions.

`check_words` says whether the words can be told apart, in structured questions and in English.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, Literal

from sightline.errors import ConfigError
from sightline.hints import hint

WHOLE: Final = "image"
"""Name of the region that is the whole image; every vocabulary has it, first."""

REGION: Final = "region"
"""In a relation's `given`: where the two objects were found."""

_GLUE: Final = re.compile(r"(?:^|\s)(and|that)(?=\s|$)")
_NUMBER: Final = re.compile(r"(^|\s)\d+(\s|$)")
_SPACES: Final = re.compile(r"^\s|\s$|\s\s|[\n\t?]")


@dataclass(frozen=True, slots=True)
class Region:
    """A designated rectangle: xyxy in fractions of the image, half-open, origin top left."""

    name: str
    box: tuple[float, float, float, float]

    def meets(self, other: Region) -> bool:
        """Whether the two share an area.

        >>> left, right = Region("left", (0, 0, 0.5, 1)), Region("right", (0.5, 0, 1, 1))
        >>> left.meets(left), left.meets(right)
        (True, False)
        """
        a, b = self.box, other.box
        return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])

    def within(self, other: Region) -> bool:
        """Whether this region lies inside the other, or is it."""
        a, b = self.box, other.box
        return a[0] >= b[0] and a[1] >= b[1] and a[2] <= b[2] and a[3] <= b[3]


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """Where the data says whether an object has an attribute.

    Attributes:
        kind: ``attribute``: `Object.attributes` [`key`] is one of `values`. ``category``: the object's category is
            one of `values`; it is not if one of `others`, or, where those are empty, any other. ``flag``: its
            sighting has the flag `key`. ``occluded``: its sighting is hidden by more than the share `above`.
            ``relation``: it stands in the relation whose predicate is one of `values` (aspect `key`, or any aspect
            where that is empty) with another object, as its `role` says.
        role: Which side of the relation the object is.
        reverse: Predicates that say the same of the object on the other side of the relation.
        others: Categories the partners must have; empty for any.
        exactly: So many partners; None for at least one.
        above: Hidden share above which an object counts as occluded.
        absent: What it means that the data is silent: nobody knows, or no.
        covered: Predicates: of the subject of such a relation it is ambiguous, for the object hides what is asked
            for (what stands on a pot hides its opening).
    """

    kind: Literal["attribute", "category", "flag", "occluded", "relation"]
    key: str = ""
    values: tuple[str, ...] = ()
    role: Literal["subject", "object"] = "subject"
    reverse: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    exactly: int | None = None
    above: float = 0.0
    absent: Literal["unknown", "no"] = "unknown"
    covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something an object of a type may be or have.

    Attributes:
        name: Unique within its type; what structured questions say.
        group: Attributes of one group depend on each other; those of different groups are taken as independent.
        phrase: How it reads after "is" (or "has", by `verb`): ``walking on a sidewalk``.
        verb: ``is`` or ``has``.
        source: Where the data says so.
        question: Where neither verb will do, the question itself with ``{}`` for the object (``Would {} fit inside
            another object``); `phrase` is then what follows "that" (``would fit inside another object``).
    """

    name: str
    group: str
    phrase: str
    source: AttributeSource
    verb: Literal["is", "has"] = "is"
    question: str = ""


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A type of objects.

    Attributes:
        name: One noun, singular.
        categories: Category names of the data that belong to it.
        attributes: In fixed order; their positions are the bits of `Columns`.
        exclusive: Groups of which an object has at most one attribute.
    """

    name: str
    categories: tuple[str, ...]
    attributes: tuple[Attribute, ...] = ()
    exclusive: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RelationType:
    """A relation between two labelled objects.

    Attributes:
        name: Unique; what structured questions say.
        phrase: ``closer to the camera than`` reads "Is person 1 closer to the camera than person 2?"; of an
            unordered one ``talking`` reads "Are person 1 and person 2 talking?".
        subjects: Types the subject may have; empty for all. `objects` likewise.
        ordered: Whether it matters who comes first.
        camera: Whether it depends on where the camera stands.
        group: Relations of one group depend on each other; those of different groups are taken as independent.
        given: Attribute groups of the two objects it depends on, ``region`` for where they were found; empty: it is
            taken as independent of all attributes.
        verb: ``is``; or ``does`` for a phrase that is a bare verb ("Does person 1 hold umbrella 1?"); or ``there``
            ("Is there an interaction between person 1 and person 2?").
        aspect: Aspect of the data's relations, or empty for any; ``box`` to measure boxes instead.
        values: Predicates that say it of (subject, object); with ``box`` one of ``larger``, ``taller``.
        reverse: Predicates that say it of (object, subject).
        margin: With ``box``: by what share it must be larger to be decided.
        absent: What it means that the data is silent about a pair.
        question: Where no verb will do, the question itself: ``Would {object} fit inside {subject}``.
        order: ``strict``: of two objects exactly one comes before the other, what lies level is ambiguous;
            ``partial``: at most one does; both transitive. ``asymmetric``: at most one of the two orders holds.
            Empty: nothing follows. Measured boxes are always a strict order.
        opposite: The relation that says the same of (object, subject), in both orders.
    """

    name: str
    phrase: str
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    ordered: bool = True
    camera: bool = False
    group: str = ""
    given: tuple[str, ...] = ()
    verb: Literal["is", "does", "there"] = "is"
    aspect: str = ""
    values: tuple[str, ...] = ()
    reverse: tuple[str, ...] = ()
    margin: float = 0.1
    absent: Literal["unknown", "no"] = "unknown"
    question: str = ""
    order: Literal["", "strict", "partial", "asymmetric"] = ""
    opposite: str = ""

    @property
    def strict(self) -> bool:
        """Whether exactly one of two objects comes before the other, unless that is ambiguous."""
        return self.order == "strict" or self.aspect == "box"

    @property
    def transitive(self) -> bool:
        """Whether what comes before one that comes before a third comes before the third."""
        return self.strict or self.order == "partial"

    def joins(self, subject: str, other: str) -> bool:
        """Whether it can be asked of these two types, in this order."""
        return (not self.subjects or subject in self.subjects) and (not self.objects or other in self.objects)

    def asked_of(self, subject: str, other: str) -> bool:
        """Whether it can be asked of these two types, in either order where it is not ordered."""
        return self.joins(subject, other) or (not self.ordered and self.joins(other, subject))


@dataclass(frozen=True)
class Vocabulary:
    """All words of an exam.

    Attributes:
        name: How results call it.
        types: In fixed order; `Columns.types` holds positions.
        links: In fixed order; their positions are the bits of `Columns.holds`.
        regions: In fixed order, the whole image first; their positions are the bits of `Columns.seen`; 64 at most.
        most_attributes: Attributes a question may join.
        extent: ``size``: regions are fractions of the image's size. ``boxes``: of the extent of its boxes, from the
            top left corner, where the source never told the size.
        style: How questions are worded: ``plain``, or ``paper`` as in the paper's Figure 2.
    """

    name: str
    types: tuple[ObjectType, ...]
    links: tuple[RelationType, ...]
    regions: tuple[Region, ...]
    most_attributes: int = 2
    extent: Literal["size", "boxes"] = "size"
    style: Literal["plain", "paper"] = "plain"

    @cached_property
    def type_index(self) -> Mapping[str, int]:
        """Type name → position."""
        return {kind.name: i for i, kind in enumerate(self.types)}

    @cached_property
    def link_index(self) -> Mapping[str, int]:
        """Relation name → position."""
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def region_index(self) -> Mapping[str, int]:
        """Region name → position."""
        return {region.name: i for i, region in enumerate(self.regions)}

    @cached_property
    def attribute_index(self) -> Mapping[tuple[str, str], int]:
        """(type name, attribute name) → position among the attributes of that type."""
        return {(kind.name, a.name): i for kind in self.types for i, a in enumerate(kind.attributes)}

    def kind(self, name: str) -> ObjectType:
        """The type of that name; KeyError if there is none."""
        return self.types[self.type_index[name]]

    def region(self, name: str) -> Region:
        """The region of that name; KeyError if there is none."""
        return self.regions[self.region_index[name]]

    def attribute(self, kind: str, name: str) -> Attribute:
        """An attribute of a type; KeyError if there is none."""
        return self.kind(kind).attributes[self.attribute_index[kind, name]]

    def link(self, name: str) -> RelationType:
        """The relation of that name; KeyError if there is none."""
        return self.links[self.link_index[name]]


def check_words(vocabulary: Vocabulary, file: str = "vocabulary") -> None:
    """Refuse double names, groups that are not there, and phrases of which English could not be read back.

    Raises:
        ConfigError: Naming file and field.
    """
    if not vocabulary.types:
        raise ConfigError(f"{file}: types: there is none")
    _no_double((kind.name for kind in vocabulary.types), f"{file}: types")
    _no_double((link.name for link in vocabulary.links), f"{file}: relations")
    _no_double((c for kind in vocabulary.types for c in kind.categories), f"{file}: types.categories")
    for kind in vocabulary.types:
        _check_type(kind, f"{file}: types[{kind.name}]")
    for link in vocabulary.links:
        _check_link(link, vocabulary, f"{file}: relations[{link.name}]")
        _check_order(link, vocabulary, f"{file}: relations[{link.name}]")
    _check_readings(vocabulary, f"{file}: relations")


def _check_type(kind: ObjectType, where: str) -> None:
    _check_phrase(kind.name, f"{where}.name")
    if kind.name.startswith("unique "):
        raise ConfigError(f"{where}.name: a type cannot be called 'unique …', which is how uniqueness is asked")
    if not kind.categories:
        raise ConfigError(f"{where}.categories: no category belongs to it")
    _no_double((a.name for a in kind.attributes), f"{where}.attributes")
    said = (a.question or f"{a.verb} {a.phrase}" for a in kind.attributes)
    _no_double(said, f"{where}.attributes.phrase")
    for attribute in kind.attributes:
        _check_attribute(attribute, kind, f"{where}.attributes[{attribute.name}]")
    groups = Counter(a.group for a in kind.attributes)
    for group in sorted(kind.exclusive):
        if group not in groups:
            raise ConfigError(f"{where}.exclusive: no attribute is of group {group!r}{hint(group, groups)}")
        if groups[group] == 1:
            raise ConfigError(f"{where}.exclusive: group {group!r} has one attribute, so nothing excludes another")


def _check_attribute(attribute: Attribute, kind: ObjectType, where: str) -> None:
    _check_phrase(attribute.phrase, f"{where}.phrase")
    _check_template(attribute.question, ("{}",), f"{where}.question")
    if attribute.phrase.startswith(("has ", "does it have ")) or attribute.phrase.endswith(" region"):
        raise ConfigError(f"{where}.phrase: {attribute.phrase!r} would be read as another part of the question")
    if not attribute.group or attribute.group == REGION:
        raise ConfigError(f"{where}.group: a group needs a name other than {REGION!r}")
    source = attribute.source
    needs = {"attribute": ("key", "values"), "category": ("values",), "flag": ("key",), "relation": ("values",)}
    for name in needs.get(source.kind, ()):
        if not getattr(source, name):
            raise ConfigError(f"{where}.source.{name}: a source of kind {source.kind!r} needs it")
    if source.kind == "category":
        for value in source.values:
            if value not in kind.categories:
                raise ConfigError(
                    f"{where}.source.values: {value!r} is no category of the type{hint(value, kind.categories)}"
                )


def _check_link(link: RelationType, vocabulary: Vocabulary, where: str) -> None:
    _check_phrase(link.phrase, f"{where}.phrase")
    _check_template(link.question, ("{subject}", "{object}"), f"{where}.question")
    if link.verb == "there" and link.ordered:
        raise ConfigError(f"{where}.verb: 'there' is for relations that are not ordered")
    if link.aspect == "box" and (len(link.values) != 1 or link.values[0] not in ("larger", "taller")):
        raise ConfigError(f"{where}.values: measured boxes tell larger or taller, not {list(link.values)}")
    if not link.values and not link.reverse:
        raise ConfigError(f"{where}.values: no predicate says it")
    for field in ("subjects", "objects"):
        for name in getattr(link, field):
            if name not in vocabulary.type_index:
                raise ConfigError(f"{where}.{field}: unknown type {name!r}{hint(name, vocabulary.type_index)}")
    groups = given_groups(link, vocabulary.types)
    for group in link.given:
        if group not in groups:
            raise ConfigError(f"{where}.given: no attribute is of group {group!r}{hint(group, sorted(groups))}")


def _check_order(link: RelationType, vocabulary: Vocabulary, where: str) -> None:
    """Refuse declarations of order and opposite that contradict each other, or the predicates."""
    if link.order and not link.ordered:
        raise ConfigError(f"{where}.order: {link.order!r} contradicts `ordered: false`")
    if link.aspect == "box" and link.order not in ("", "strict"):
        raise ConfigError(f"{where}.order: measured boxes are a strict order, not {link.order!r}")
    both = sorted(set(link.values) & set(link.reverse))
    if both and link.order:
        raise ConfigError(f"{where}.order: {both[0]!r} says it in both orders, which contradicts {link.order!r}")
    if not link.opposite:
        return
    if link.opposite == link.name:
        raise ConfigError(f"{where}.opposite: its own opposite; write `ordered: false` where the order is the same")
    if link.opposite not in vocabulary.link_index:
        known = hint(link.opposite, vocabulary.link_index)
        raise ConfigError(f"{where}.opposite: unknown relation {link.opposite!r}{known}")
    other = vocabulary.link(link.opposite)
    if other.opposite not in ("", link.name):
        raise ConfigError(f"{where}.opposite: {other.name!r} declares another opposite, {other.opposite!r}")
    if not link.ordered or not other.ordered:
        raise ConfigError(f"{where}.opposite: contradicts `ordered: false`")
    if other.order != link.order:
        orders = f"{link.order or 'none'!r} and {other.order or 'none'!r}"
        raise ConfigError(f"{where}.opposite: {other.name!r} has another order: {orders}")
    if (set(other.subjects), set(other.objects)) != (set(link.objects), set(link.subjects)):
        raise ConfigError(f"{where}.opposite: subjects and objects of {other.name!r} are not these turned round")
    shared = sorted(set(link.values) & set(other.values))
    if shared and link.aspect == other.aspect and link.order:
        raise ConfigError(f"{where}.opposite: {shared[0]!r} says both, which contradicts the order {link.order!r}")
    for third in vocabulary.links:
        if third.opposite == link.opposite and third.name != link.name:
            raise ConfigError(f"{where}.opposite: {third.name!r} declares the same opposite")


def given_groups(link: RelationType, types: Iterable[ObjectType]) -> set[str]:
    """Groups that a relation may depend on: those of the types it is asked of, and where the objects were found."""
    named = {*link.subjects, *link.objects}
    anything = not link.subjects or not link.objects
    return {REGION} | {a.group for kind in types if anything or kind.name in named for a in kind.attributes}


def _check_phrase(phrase: str, where: str) -> None:
    if not phrase or _SPACES.search(phrase):
        raise ConfigError(f"{where}: {phrase!r} is not words with single spaces between, without a question mark")
    glue = _GLUE.search(phrase)
    if glue is not None:
        raise ConfigError(f"{where}: {phrase!r} says {glue[1]!r}, which joins attributes: write it with a hyphen")
    if _NUMBER.search(phrase):
        raise ConfigError(f"{where}: {phrase!r} says a number by itself, as labels do: write it as a word")


def _check_template(question: str, slots: tuple[str, ...], where: str) -> None:
    """Refuse the words of a question that do not name each object once, or could not be read back."""
    if not question:
        return
    _check_phrase(question, where)
    bare = question
    for slot in slots:
        bare = bare.replace(slot, "", 1)
    if not question[0].isupper() or len(question) - len(bare) != len("".join(slots)) or set(bare) & {"{", "}"}:
        wanted = " and ".join(f"{slot} once" for slot in slots)
        raise ConfigError(f"{where}: expected a question that begins with a capital and has {wanted}: {question!r}")


def relation_template(link: RelationType) -> str:
    """The question a relation asks, without its mark, ``{subject}`` and ``{object}`` for the two objects.

    >>> relation_template(RelationType("near", "near each other", ordered=False))
    'Are {subject} and {object} near each other'
    """
    if link.question:
        return link.question
    if link.verb == "there":
        return f"Is there {link.phrase} {{subject}} and {{object}}"
    if link.ordered:
        return f"{'Does' if link.verb == 'does' else 'Is'} {{subject}} {link.phrase} {{object}}"
    return f"{'Do' if link.verb == 'does' else 'Are'} {{subject}} and {{object}} {link.phrase}"


def _check_readings(vocabulary: Vocabulary, where: str) -> None:
    """No two relations that the same sentence could ask for."""
    shapes: dict[str, RelationType] = {}
    for link in vocabulary.links:
        shape = relation_template(link).replace("{object}", "{subject}")
        other = shapes.setdefault(shape, link)
        if other is not link and (link.question or other.question):
            raise ConfigError(
                f"{where}: {other.name!r} and {link.name!r} cannot be told apart in English: {shape!r}"
            )
    endings: dict[tuple[str, bool, str], list[tuple[RelationType, str]]] = {}
    for link in (link for link in vocabulary.links if not link.question):
        for kind in vocabulary.type_index:
            end = f"{link.phrase} {kind}" if link.ordered else f"{kind} {link.phrase}"
            endings.setdefault((link.verb, link.ordered, end), []).append((link, kind))
    for (_, _, end), readings in endings.items():
        for (one, a), (other, b) in combinations(readings, 2):
            if any(one.asked_of(s, a) and other.asked_of(s, b) for s in vocabulary.type_index):
                raise ConfigError(
                    f"{where}: {one.name!r} and {other.name!r} cannot be told apart in English: {end!r}"
                )


def _no_double(names: Iterable[str], where: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise ConfigError(f"{where}: {name!r} stands there {'twice' if times == 2 else f'{times} times'}")
