"""Compiled kernels over packed images: how many answer yes, which ones, and which object a label names.

A *predicate* is a type with at most one attribute, seen in one region. Of each a corpus holds up to `MOST` planes:
bit i of plane k is set where image i has more than k fitting objects; a crowd counts as two. Subtracting labelled
objects shifts the planes down in the images where they fit, so a question after j labels of its type needs j + 2.
Region sets of one image are words too, bit w for region w, and 64 images × 64 regions are turned over as a block.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sightline.exams.turing.chances.bits import (
    ONE,
    ZERO,
    Ints,
    Longs,
    Things,
    Words,
    inlined,
    is_crowd,
    is_set,
    kernel,
    ones,
    places_of,
    turn,
)

_BLOCK: Final = 1024  # words handled at once, so that what lies between two passes stays in the first cache


class Marked(NamedTuple):
    """Facts about the j labelled objects of one type as planes over all images, 0 where an image has dropped out.

    Attributes:
        having: (j, A, words) has the attribute.
        may_have: (j, A, words) or may have it; only of attributes that are unknown of some object.
        seen: (j, W, words) is seen in the region.
    """

    having: Words
    may_have: Words
    seen: Words


# Questions of at most one attribute: planes.


# Loops run over slices that begin at 0: an index that might be negative would keep them from being made vectors.


@inlined
def _remaining(
    planes: Words, rows: Ints, fits: Words, start: int, n: int, levels: Words, one: Words, two: Words
) -> None:
    """Of words start : start + n, where at least one and where at least two fitting objects are not labelled.

    (j, block) `fits`: where the j labelled objects fit. `levels` is room for the same.
    """
    labels = len(fits)
    for k in range(labels):
        levels[k, :n] = ZERO
    for s in range(labels):  # level k: more than k labelled ones fit
        fit = fits[s, :n]
        for k in range(s, 0, -1):
            _or_and(levels[k, :n], levels[k - 1, :n], fit)
        _or_and(levels[0, :n], fit, fit)
    one[:n] = planes[rows[labels], start : start + n]
    two[:n] = planes[rows[labels + 1], start : start + n]
    for k in range(labels):
        _or_and_not(one[:n], planes[rows[k], start : start + n], levels[k, :n])
        _or_and_not(two[:n], planes[rows[k + 1], start : start + n], levels[k, :n])


@inlined
def _or_and(out: Words, a: Words, b: Words) -> None:
    for i in range(len(out)):
        out[i] |= a[i] & b[i]


@inlined
def _or_and_not(out: Words, a: Words, b: Words) -> None:
    for i in range(len(out)):
        out[i] |= a[i] & ~b[i]


@inlined
def _fitting(having: Words, seen: Words, attribute: int, region: int, start: int, n: int, fits: Words) -> None:
    """Where the labelled objects fit a predicate, in words start : start + n."""
    for s in range(len(fits)):
        fit = fits[s, :n]
        fit[:] = seen[s, region, start : start + n]
        if attribute >= 0:
            has = having[s, attribute, start : start + n]
            for i in range(n):
                fit[i] &= has[i]


@kernel
def count_planes(
    planes: Words,
    sure: Ints,
    possible: Ints,
    attributes: Ints,
    region: int,
    marked: Marked,
    mask: Words,
    out: Longs,
) -> None:
    """Count the images of a mask where q predicates of one type and region hold.

    Args:
        planes: (rows, words) of the corpus.
        sure: (q, `MOST`) rows of the objects that surely fit.
        possible: (q, `MOST`) rows of those that may; the same where nothing is unknown.
        attributes: (q,) position of each predicate's attribute, −1 for none.
        region: Where.
        marked: Labelled objects of the type.
        mask: (words,) the images.
        out: (q, 4) to be filled: exist is yes, unique is yes, exist is open, unique is open.
    """
    labels, words = len(marked.seen), len(mask)
    fits, levels = np.empty((labels, _BLOCK), np.uint64), np.empty((labels, _BLOCK), np.uint64)
    buffers = np.empty((4, _BLOCK), np.uint64)
    one, two, may_one, may_two = buffers[0], buffers[1], buffers[2], buffers[3]
    for q in range(len(sure)):
        settled = (sure[q] == possible[q]).all()
        exist = unique = open_exist = open_unique = ZERO
        if labels == 0 and settled:
            first, second = planes[sure[q, 0]], planes[sure[q, 1]]
            for i in range(words):
                here = first[i] & mask[i]
                exist += ones(here)
                unique += ones(here & ~second[i])
        else:
            for start in range(0, words, _BLOCK):
                n = min(_BLOCK, words - start)
                _fitting(marked.having, marked.seen, attributes[q], region, start, n, fits)
                _remaining(planes, sure[q], fits, start, n, levels, one, two)
                part = mask[start : start + n]
                if settled:
                    for i in range(n):
                        here = one[i] & part[i]
                        exist += ones(here)
                        unique += ones(here & ~two[i])
                else:
                    _fitting(marked.may_have, marked.seen, attributes[q], region, start, n, fits)
                    _remaining(planes, possible[q], fits, start, n, levels, may_one, may_two)
                    for i in range(n):
                        here = part[i]
                        exist += ones(here & one[i])
                        unique += ones(here & one[i] & ~may_two[i])
                        open_exist += ones(here & may_one[i] & ~one[i])
                        open_unique += ones(here & may_one[i] & ~two[i] & ~(one[i] & ~may_two[i]))
        out[q, 0], out[q, 1], out[q, 2], out[q, 3] = exist, unique, open_exist, open_unique


@kernel
def mark_planes(
    planes: Words,
    sure: Ints,
    possible: Ints,
    attribute: int,
    region: int,
    marked: Marked,
    unique: bool,
    answer: bool,
    out: Words,
) -> None:
    """Clear the bits of `out` where one predicate is not surely answered so; else as `count_planes`."""
    labels, words = len(marked.seen), len(out)
    fits, levels = np.empty((labels, _BLOCK), np.uint64), np.empty((labels, _BLOCK), np.uint64)
    buffers = np.empty((4, _BLOCK), np.uint64)
    one, two, may_one, may_two = buffers[0], buffers[1], buffers[2], buffers[3]
    settled = (sure == possible).all()
    may_have = marked.having if settled else marked.may_have
    for start in range(0, words, _BLOCK):
        n = min(_BLOCK, words - start)
        _fitting(marked.having, marked.seen, attribute, region, start, n, fits)
        _remaining(planes, sure, fits, start, n, levels, one, two)
        _fitting(may_have, marked.seen, attribute, region, start, n, fits)
        _remaining(planes, possible, fits, start, n, levels, may_one, may_two)
        part = out[start : start + n]
        for i in range(n):
            yes = one[i] & ~may_two[i] if unique else one[i]
            no = ~may_one[i] | two[i] if unique else ~may_one[i]
            part[i] &= yes if answer else no


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
        out[ones((word & (~word + ONE)) - ONE), column] += 1  # the position of its lowest bit
        word &= word - ONE


@inlined
def _add_set(things: Things, near: Ints, wanted: Words, here: np.uint64, out: Longs) -> None:
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
def _end(things: Things, members: Ints, i: int) -> int:
    """The first member after i that is in another image."""
    image = things.image_of[members[i]]
    while i < len(members) and things.image_of[members[i]] == image:
        i += 1
    return i


@kernel
def count_objects(
    things: Things,
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
            turn(alive, 64)
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
    things: Things, members: Ints, taken: Words, wanted: Words, region: int, unique: bool, answer: bool, out: Words
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
def _scatter(word: np.uint64, image: int, out: Words) -> None:
    """Set the image's bit in the planes a word names; few images are left, so this beats turning whole blocks."""
    while word != ZERO:
        out[ones((word & (~word + ONE)) - ONE), image >> 6] |= ONE << np.uint64(image & 63)
        word &= word - ONE


@kernel
def label_objects(
    things: Things,
    members: Ints,
    taken: Words,
    wanted: Words,
    region: int,
    mask: Words,
    found: Ints,
    unsure: Words,
    marked: Marked,
) -> None:
    """In each image of the mask, which has exactly one, find the object a uniqueness question is about.

    Args:
        things: Objects of the type the question asks for.
        members: Those to look at.
        taken: Which are labelled; the new ones are added.
        wanted: Attributes it asks for.
        region: Where it looks.
        mask: (words,) the images.
        found: Position of the object in each of them, to be filled.
        unsure: Attributes of the type that are unknown of some object.
        marked: Zeros, to be filled with the objects' facts; no planes at all where they are not wanted.
    """
    words, m = len(wanted), 0
    passed = np.empty(len(members) + 1, np.int32)
    for thing in members:
        passed[m] = thing
        image, missing = things.image_of[thing], ZERO
        for k in range(words):
            missing |= wanted[k] & ~things.records[thing, k]
        fits = mask[image >> 6] >> np.uint64(image & 63) & ~(taken[thing >> 6] >> np.uint64(thing & 63))
        fits &= places_of(things.records, thing) >> np.uint64(region)
        m += int(fits & ONE & np.uint64(missing == ZERO))  # no branch, as in `still_left`
    found[:] = passed[:m]
    for thing in found:
        taken[thing >> 6] |= ONE << np.uint64(thing & 63)
    if marked.seen.shape[1] == 0:
        return
    for thing in found:
        image, record = things.image_of[thing], things.records[thing]
        for k in range(words):
            _scatter(record[k], image, marked.having[0, 64 * k :])
            _scatter(~record[words + k] & unsure[k], image, marked.may_have[0, 64 * k :])
        _scatter(places_of(things.records, thing), image, marked.seen[0])
