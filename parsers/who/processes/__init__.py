"""The processes of a job, put together from all that is told of places, numbers and orders."""
