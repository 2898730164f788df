"""Which records are of one launch of the job, and which of the next."""
