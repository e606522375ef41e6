"""The stages of a submission, each a room of its own; they meet in rows and messages only."""
