"""The context exam: does a model see an object, or guess it from its surroundings?"""
