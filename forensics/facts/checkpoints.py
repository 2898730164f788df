"""What to go back to."""


def before_step(step: int | None) -> str:
    """Words for the state before a step; nothing lies before the first one but what the run began from."""
    return f"a checkpoint before step {step}" if step is not None and step > 0 else "what the run began from"
