"""Compiled kernels over packed images: how many answer yes, which ones, and which object a label names.

A *predicate* is a type with at most one attribute, seen in one region. Of each a corpus holds up to `MOST` planes:
bit i of plane k is set where image i has more than k fitting objects; a crowd counts as two. Subtracting labelled
objects shifts the planes down in the images where they fit, so a question after j labels of its type needs j + 2.
Region sets of one image are words too, bit w for region w, and 64 images × 64 regions are transposed as a block.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from sightline.exams.turing.estimate.bits import (
    ABREAST,
    ONE,
    ZERO,
    Ints,
    Longs,
    TypeObjects,
    Words,
    inlined,
    is_crowd,
    is_set,
    kernel,
    lowest,
    ones,
    places_of,
    transpose,
    transpose_abreast,
)

_AT_ONCE: Final = 4
"""Predicates counted side by side. One stream of planes does not keep memory busy; eight do."""


_BLOCK: Final = 1024  # words handled at once, so that what lies between two passes stays in the first cache


class LabelledFacts(NamedTuple):
    """Facts about the labelled objects of one type as planes over all images, 0 where an image has dropped out.

    Attributes:
        number: How many labels, 0 to 2.
        first: (facts, words) of the object with the first label, as in `CorpusTables.facts`; not read without one.
        second: The same of the second.
    """

    number: int
    first: Words
    second: Words


# Questions of at most one attribute: planes. `more_k` is the plane of images with more than k fitting objects,
# `may_k` that of images with more than k objects that may fit; `first_…` and `second_…` are facts about the objects
# with the first and the second label of the type.


@inlined
def _any_left(more_0: Any, more_1: Any, more_2: Any, first_fits: Any, second_fits: Any) -> Any:
    """Images (64 to a word) with a fitting object beside the labelled ones.

    It takes one fitting object where neither labelled one fits, two where one of them does, three where both do.
    Given the planes of more than 1, 2 and 3 instead, these are the images with several fitting objects left.
    """
    return more_0 & ~(first_fits | second_fits) | more_1 & ~(first_fits & second_fits) | more_2


@inlined
def _four(planes: Words, rows: Ints, labels: int) -> tuple[Words, Words, Words, Words]:
    """The planes of more than 0, 1, 2 and 3 objects.

    With one label no two labelled objects fit, so that `_any_left` says the same if "more than 1" stands in for
    "more than 2", and with none if "more than 0" does: that saves reading planes which say nothing.
    """
    last = labels + 1
    return planes[rows[0]], planes[rows[1]], planes[rows[min(2, last)]], planes[rows[min(3, last)]]


@inlined
def _facts(marked: LabelledFacts, row: int, nothing: Words) -> Any:
    """Images where a fact is true of the first labelled object, and of the second."""
    first = marked.first[row] if marked.number > 0 else nothing
    return first, marked.second[row] if marked.number > 1 else nothing


@inlined
def _sides(i: int, more: Any, may: Any, seen: Any, has: Any, may_have: Any) -> tuple[Any, Any, Any, Any]:
    """Images of word i in which, labelled objects aside, one surely fits, several do, one may, exactly one does.

    Args:
        i: Which word.
        more: The planes of `_four` for objects that surely fit; `may` for those that may.
        may: See `more`.
        seen: The planes of `_facts` for being seen there; `has` for having the attribute, `may_have` likewise.
        has: See `seen`.
        may_have: See `seen`.
    """
    first, second = seen[0][i] & has[0][i], seen[1][i] & has[1][i]
    surely = _any_left(more[0][i], more[1][i], more[2][i], first, second)
    several = _any_left(more[1][i], more[2][i], more[3][i], first, second)
    first, second = seen[0][i] & may_have[0][i], seen[1][i] & may_have[1][i]
    possibly = _any_left(may[0][i], may[1][i], may[2][i], first, second)
    return surely, several, possibly, surely & ~_any_left(may[1][i], may[2][i], may[3][i], first, second)


@inlined
def _count_settled(planes: Words, sure: Ints, which: Longs, mask: Words, out: Longs) -> None:
    """Count images for four predicates at once, of which nothing is unknown, before any label of their type.

    Columns 0 and 1 of `out`, of the rows `which`: images with a fitting object, and with exactly one.
    """
    a, b, c, d = which[0], which[1], which[2], which[3]
    a_one, b_one, c_one, d_one = planes[sure[a, 0]], planes[sure[b, 0]], planes[sure[c, 0]], planes[sure[d, 0]]
    a_two, b_two, c_two, d_two = planes[sure[a, 1]], planes[sure[b, 1]], planes[sure[c, 1]], planes[sure[d, 1]]
    a_any = b_any = c_any = d_any = a_sole = b_sole = c_sole = d_sole = ZERO
    for i in range(len(mask)):
        here = mask[i]
        a_any += ones(a_one[i] & here)
        a_sole += ones(a_one[i] & ~a_two[i] & here)
        b_any += ones(b_one[i] & here)
        b_sole += ones(b_one[i] & ~b_two[i] & here)
        c_any += ones(c_one[i] & here)
        c_sole += ones(c_one[i] & ~c_two[i] & here)
        d_any += ones(d_one[i] & here)
        d_sole += ones(d_one[i] & ~d_two[i] & here)
    out[a, 0], out[b, 0], out[c, 0], out[d, 0] = a_any, b_any, c_any, d_any
    out[a, 1], out[b, 1], out[c, 1], out[d, 1] = a_sole, b_sole, c_sole, d_sole


@inlined
def _count_open(planes: Words, sure: Ints, possible: Ints, mask: Words, out: Longs) -> None:
    """Count images for one predicate of which something is unknown, before any label; see `count_planes`."""
    one, two, may_one, may_two = planes[sure[0]], planes[sure[1]], planes[possible[0]], planes[possible[1]]
    exist = unique = open_exist = open_unique = ZERO
    for i in range(len(mask)):
        single = one[i] & ~may_two[i]
        exist += ones(mask[i] & one[i])
        unique += ones(mask[i] & single)
        open_exist += ones(mask[i] & may_one[i] & ~one[i])
        open_unique += ones(mask[i] & may_one[i] & ~two[i] & ~single)
    out[0], out[1], out[2], out[3] = exist, unique, open_exist, open_unique


@inlined
def _count_settled_left(
    planes: Words, sure: Ints, fits: Ints, marked: LabelledFacts, mask: Words, out: Longs
) -> None:
    """Count images for one predicate of which nothing is unknown, labelled objects aside; see `count_planes`."""
    more_0, more_1, more_2, more_3 = _four(planes, sure, marked.number)
    first_seen, second_seen = _facts(marked, fits[0], planes[0])
    first_has, second_has = _facts(marked, fits[1], planes[0])
    exist = unique = ZERO
    for i in range(len(mask)):
        first, second = first_seen[i] & first_has[i], second_seen[i] & second_has[i]
        left = mask[i] & _any_left(more_0[i], more_1[i], more_2[i], first, second)
        exist += ones(left)
        unique += ones(left & ~_any_left(more_1[i], more_2[i], more_3[i], first, second))
    out[0], out[1] = exist, unique


@inlined
def _count_open_left(
    planes: Words, sure: Ints, possible: Ints, fits: Ints, marked: LabelledFacts, mask: Words, out: Longs
) -> None:
    """Count images for one predicate of which something is unknown, labelled objects aside; see `count_planes`."""
    more, may = _four(planes, sure, marked.number), _four(planes, possible, marked.number)
    seen, has = _facts(marked, fits[0], planes[0]), _facts(marked, fits[1], planes[0])
    may_have = _facts(marked, fits[2], planes[0])
    exist = unique = open_exist = open_unique = ZERO
    for i in range(len(mask)):
        surely, several, possibly, single = _sides(i, more, may, seen, has, may_have)
        exist += ones(mask[i] & surely)
        unique += ones(mask[i] & single)
        open_exist += ones(mask[i] & possibly & ~surely)
        open_unique += ones(mask[i] & possibly & ~several & ~single)
    out[0], out[1], out[2], out[3] = exist, unique, open_exist, open_unique


@kernel
def count_planes(
    planes: Words, sure: Ints, possible: Ints, fits: Ints, marked: LabelledFacts, mask: Words, out: Longs
) -> None:
    """Count the images of a mask where q predicates of one type and region hold.

    Args:
        planes: (rows, words) of the corpus.
        sure: (q, `MOST`) rows of the objects that surely fit.
        possible: (q, `MOST`) rows of those that may; the same where nothing is unknown.
        fits: (q, 3) facts about labelled objects: is seen there, has the attribute (again is seen, where there is
            none), may have it. One fits if the first two are true, may fit if the first and the third are.
        marked: Labelled objects of the type.
        mask: (words,) the images.
        out: (q, 4) zeros, to be filled: exist is yes, unique is yes, exist is open, unique is open.
    """
    waiting, n = np.zeros(_AT_ONCE, np.int64), 0
    for q in range(len(sure)):
        settled = (sure[q] == possible[q]).all()
        if settled and marked.number == 0:
            waiting[n:] = q  # a group that is not full counts its last one several times, out of the cache
            n += 1
            if n == _AT_ONCE:
                _count_settled(planes, sure, waiting, mask, out)
                n = 0
        elif settled:
            _count_settled_left(planes, sure[q], fits[q], marked, mask, out[q])
        elif marked.number == 0:
            _count_open(planes, sure[q], possible[q], mask, out[q])
        else:
            _count_open_left(planes, sure[q], possible[q], fits[q], marked, mask, out[q])
    if n:
        _count_settled(planes, sure, waiting, mask, out)


@kernel
def mark_planes(
    planes: Words,
    sure: Ints,
    possible: Ints,
    fits: Ints,
    marked: LabelledFacts,
    unique: bool,
    answer: bool,
    out: Words,
) -> None:
    """Clear the bits of `out` where one predicate is not surely answered so; else as `count_planes`."""
    more, may = _four(planes, sure, marked.number), _four(planes, possible, marked.number)
    seen, has = _facts(marked, fits[0], planes[0]), _facts(marked, fits[1], planes[0])
    may_have = _facts(marked, fits[2], planes[0])
    for i in range(len(out)):
        surely, several, possibly, single = _sides(i, more, may, seen, has, may_have)
        yes = single if unique else surely
        no = ~possibly | several if unique else ~possibly
        out[i] &= yes if answer else no


# Questions of any attributes: object by object. `members` are the positions of one type's objects in the images
# that are left, ascending; `taken` has a bit for each of the type's objects that is labelled.


@kernel
def still_left(image_of: Ints, members: Ints, mask: Words) -> Ints:
    """Those of the members whose image is in the mask."""
    out, n = np.empty(len(members), np.int32), 0
    for member in members:
        image = image_of[member]
        out[n] = member
        n += int(mask[image >> 6] >> np.uint64(image & 63) & ONE)  # a branch would be guessed wrong too often
    return out[:n].copy()


@inlined
def _has_all(records: Words, thing: int, wanted: Words) -> bool:
    for k in range(len(wanted)):  # noqa: SIM110
        if records[thing, k] & wanted[k] != wanted[k]:
            return False
    return True


@inlined
def _lacks_one(records: Words, thing: int, wanted: Words) -> bool:
    for k in range(len(wanted)):  # noqa: SIM110
        if records[thing, len(wanted) + k] & wanted[k] != ZERO:
            return True
    return False


@inlined
def _add_bits(word: np.uint64, out: Longs, column: int) -> None:
    while word != ZERO:
        out[lowest(word), column] += 1
        word &= word - ONE


@inlined
def _add_set(things: TypeObjects, near: Ints, wanted: Words, here: np.uint64, out: Longs) -> None:
    one = two = may_one = may_two = ZERO
    for thing in near:
        if _lacks_one(things.records, thing, wanted):
            continue
        places = places_of(things.records, thing) & here
        may_two |= places if is_crowd(things.records, thing) else may_one & places
        may_one |= places
        if _has_all(things.records, thing, wanted):
            two |= places if is_crowd(things.records, thing) else one & places
            one |= places
    if may_one != ZERO:
        single = one & ~may_two
        _add_bits(one, out, 0)
        _add_bits(single, out, 1)
        _add_bits(may_one & ~one, out, 2)
        _add_bits(may_one & ~two & ~single, out, 3)


@inlined
def _end(things: TypeObjects, members: Ints, i: int) -> int:
    """The first member after i that is in another image."""
    image = things.image_of[members[i]]
    while i < len(members) and things.image_of[members[i]] == image:
        i += 1
    return i


@kernel
def count_objects(
    things: TypeObjects,
    members: Ints,
    taken: Words,
    masks: Words,
    regions: np.uint64,
    wanted: Words,
    heads: Ints,
    out: Longs,
) -> None:
    """Count the images of each region's mask where sets of attributes hold of one type.

    Args:
        things: The type's objects.
        members: Those to look at.
        taken: Which are labelled.
        masks: (W, words) images that are left, per region.
        regions: Those that are asked for.
        wanted: (s, attribute words) the sets, by their first attribute; those of none last.
        heads: (A + 2,) sets that begin with attribute k are ``heads[k]:heads[k + 1]``.
        out: (s, W, 4) is added to: exist is yes, unique is yes, exist is open, unique is open.
    """
    alive, block, start = np.zeros(64, np.uint64), -1, 0
    near, may = np.empty(len(members), np.int32), np.empty(wanted.shape[1], np.uint64)
    while start < len(members):
        first, start = start, _end(things, members, start)
        image = things.image_of[members[first]]
        if image >> 6 != block:
            block = image >> 6
            for w in range(64):
                alive[w] = masks[w, block] if w < len(masks) else ZERO
            transpose(alive, 64)
        here, n = alive[image & 63] & regions, 0
        if here == ZERO:
            continue
        may[:] = ZERO
        for thing in members[first:start]:
            if not is_set(taken, thing):
                near[n] = thing
                n += 1
                for k in range(len(may)):
                    may[k] |= ~things.records[thing, len(may) + k]
        for k in range(len(heads) - 1 if n else 0):
            if k == len(heads) - 2 or is_set(may, k):
                for s in range(heads[k], heads[k + 1]):
                    _add_set(things, near[:n], wanted[s], here, out[s])


@kernel
def mark_objects(
    things: TypeObjects,
    members: Ints,
    taken: Words,
    wanted: Words,
    region: int,
    unique: bool,
    answer: bool,
    out: Words,
) -> None:
    """Clear the bits of `out` where one question is not surely answered so; else as `count_objects`."""
    place, start = ONE << np.uint64(region), 0
    left = np.zeros_like(out) if answer else out.copy()  # images without such objects answer no
    while start < len(members):
        first, start = start, _end(things, members, start)
        image = things.image_of[members[first]]
        surely = possibly = 0
        for thing in members[first:start]:
            if places_of(things.records, thing) & place == ZERO or is_set(taken, thing):
                continue
            if not _lacks_one(things.records, thing, wanted):
                times = 2 if is_crowd(things.records, thing) else 1
                possibly += times
                if _has_all(things.records, thing, wanted):
                    surely += times
        is_yes = surely == 1 and possibly == 1 if unique else surely >= 1
        is_no = possibly == 0 or (unique and surely >= 2)
        bit = ONE << np.uint64(image & 63)
        if is_yes if answer else is_no:
            left[image >> 6] |= bit & out[image >> 6]
        else:
            left[image >> 6] &= ~bit
    out[:] = left


@inlined
def _lay(lanes: Words, block: int, out: Words) -> None:
    """Transpose the words of 64 × `ABREAST` images from a block on into planes, and clear them."""
    n = min(ABREAST, out.shape[1] - block)
    for w in range(len(lanes)):
        rows = min(64, len(out) - 64 * w)
        transpose_abreast(lanes[w], rows)
        for k in range(rows):
            for b in range(n):
                out[64 * w + k, block + b] = lanes[w, k, b]
    lanes[:] = ZERO


@kernel
def label_objects(image_of: Ints, facts: Words, fitting: Words, mask: Words, chosen: Words, out: Words) -> None:
    """In each image of the mask, which has exactly one, find the object that fits, and lay out its facts.

    Args:
        image_of: Image of each object of the type.
        facts: (n, fact words) what is true of it.
        fitting: One bit an object.
        mask: (words,) the images.
        chosen: One bit an object, zeros: to be set where it is the one.
        out: (facts, words) to be filled; no planes at all where they are not wanted.
    """
    lanes, block = np.zeros((-(-len(out) // 64), 64, ABREAST), np.uint64), 0
    near = np.empty(64 + 1, np.int32)
    for w in range(len(fitting)):
        word, n = fitting[w], 0
        while word != ZERO:
            thing = 64 * w + lowest(word)
            image = image_of[thing]
            near[n] = thing
            n += int(mask[image >> 6] >> np.uint64(image & 63) & ONE)  # no branch, as in `still_left`
            word &= word - ONE
        for thing in near[:n]:
            chosen[w] |= ONE << np.uint64(thing & 63)
        for thing in near[: n if len(out) else 0]:
            image = image_of[thing]
            while (image >> 6) >= block + ABREAST:
                _lay(lanes, block, out)
                block += ABREAST
            for k in range(len(lanes)):
                lanes[k, image & 63, (image >> 6) - block] = facts[thing, k]
    while len(out) and block < len(mask):
        _lay(lanes, block, out)
        block += ABREAST


# Attributes and relations of labelled objects: objects or pairs pooled, one bit each.


@kernel
def count_agreeing(planes: Words, start: int, places: Ints, agreeing: Words) -> tuple[int, int]:
    """Of the objects of a type that agree with what is known, those that have all attributes, and that lack one.

    Args:
        planes: (2, A, words) has the attribute, has it not.
        start: First word of the type.
        places: Attributes, one or more.
        agreeing: (n,) the objects.
    """
    yes = no = ZERO
    has, lacks = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for first in range(0, len(agreeing), _BLOCK):
        part = agreeing[first : first + _BLOCK]
        n, at = len(part), start + first
        has[:n] = planes[0, places[0], at : at + n]
        lacks[:n] = planes[1, places[0], at : at + n]
        for place in places[1:]:
            also, nor = planes[0, place, at : at + n], planes[1, place, at : at + n]
            for i in range(n):
                has[i] &= also[i]
                lacks[i] |= nor[i]
        for i in range(n):
            yes += ones(has[i] & part[i])
            no += ones(lacks[i] & part[i])
    return int(yes), int(no)


@kernel
def count_sides(agreeing: Words, yes: Words, no: Words) -> tuple[int, int]:
    """How many of the pairs that agree are on each side."""
    holding = failing = ZERO
    for i in range(len(agreeing)):
        holding += ones(agreeing[i] & yes[i])
        failing += ones(agreeing[i] & no[i])
    return int(holding), int(failing)
