"""What is said where a question cannot be answered as it was asked. All are ValueError."""


class NoSuch(ValueError):
    """What was asked for is not in this bundle: a rank, a source, a table; or a time that is none."""


class NotALayout(ValueError):
    """The sizes of a topology do not divide the job."""
