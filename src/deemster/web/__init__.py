"""The web pages: people solve problems with them, and admins run the judge."""
