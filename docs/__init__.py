"""Pages about the course, and what draws their pictures."""
