"""TeX statements as readable Markdown."""
