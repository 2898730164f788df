"""Who stands at which call, who is held, and whether the job stood still."""
