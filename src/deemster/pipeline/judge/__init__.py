"""A submission and a problem go in, a report comes out: compile, run, check, add up."""
