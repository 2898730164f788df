"""How long things took: steps, phases and operations, who stands out in them, what a failure cost."""
