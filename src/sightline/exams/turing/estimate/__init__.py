"""How likely a yes is, counted over the training images, their objects and pairs."""
