"""Right and wrong answers to each exercise. Every wrong one says what its message must hold."""
