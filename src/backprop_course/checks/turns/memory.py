"""Your turn: no check in this lesson yet."""
