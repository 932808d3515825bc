"""The processes of one installation: web, streams, worker and its loops, and the timetable."""
