"""From a request to a submission that can't be lost."""
