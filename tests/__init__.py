"""The tests of the project itself: the plugins, and the gate over all katas."""
