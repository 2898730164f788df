"""What the job was set to: odd values, values out of range, sizes of the world."""
