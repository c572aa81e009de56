"""``python -m sightline`` is the same as ``sightline``."""

from sightline_exams import main

if __name__ == "__main__":
    main()
