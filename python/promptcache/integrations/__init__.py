"""The engine behind other libraries' interfaces, each of which is imported by its own module alone."""
