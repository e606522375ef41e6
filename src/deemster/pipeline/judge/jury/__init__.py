"""Runs the jury's programs: checkers, interactors, graders and validators."""
