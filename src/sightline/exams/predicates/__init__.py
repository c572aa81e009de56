"""The predicates exam: which of GeoSpa's eight predicates hold between the objects of a scene?"""
