"""Models from outside: files of answers, Python objects, depth maps. Imported one by one, when asked for."""
