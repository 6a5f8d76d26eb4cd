"""Reports: a run as data, and what people and programs read of it. A report never runs anything."""
