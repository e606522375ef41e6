"""Languages, toolchains, and how source becomes something that runs."""
