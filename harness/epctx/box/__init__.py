"""The box: how a target is kept from everything but its world, and what is done when it does not come back."""
