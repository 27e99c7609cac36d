"""A fleet on Ray Serve: replicas that each hold an engine, and routing by what each of them has."""
