"""Submissions that attack the grader, or arrive damaged, each with the score it deserves."""
