"""The two kinds of model at this edge: what is given to us, and what we tell."""

from pydantic import BaseModel, ConfigDict


class RequestModel(BaseModel):
    """A field that we don't know is refused, by its name (A6)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ResponseModel(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)
