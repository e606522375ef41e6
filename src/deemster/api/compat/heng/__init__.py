"""The API of heng-controller, as a translation to submissions for unlisted problems (M6)."""
