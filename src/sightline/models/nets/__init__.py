"""Networks of our own, in torch. Nothing here is imported until a model or a training asks for it."""
