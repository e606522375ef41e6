"""Moments that clients give: with their zone, and within what a database can keep."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime

FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9000


def plausible(moment: datetime) -> datetime:
    # At the ends of the calendar a change of zone would leave it.
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"give a year from {FIRST_YEAR} to {LAST_YEAR}")
    return moment


When = Annotated[AwareDatetime, AfterValidator(plausible)]
