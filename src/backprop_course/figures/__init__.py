"""Figures: functions that return a picture or an interactive figure. One module a lesson."""
