"""An example of a package that adds to the course without touching its files."""
