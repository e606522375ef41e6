"""The jury's programs: checkers, interactors, graders and validators."""
