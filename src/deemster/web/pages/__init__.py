"""The pages by topic; each module gives its routes."""
