"""`make run`: prepares the data folder and keeps every part of the portal running on one machine."""
