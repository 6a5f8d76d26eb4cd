"""The specification as a pure function: what a name means in a declared world, and what a loader has to do about it."""
