"""What pages draw: in an order that nothing but the evidence decides."""

from tests.hang_tables import Rows, call, idle, waiting


def test_classes_of_ranks_stand_in_one_order_whoever_counts_them() -> None:
    """Ranks 0-2 are in operation 9, ranks 3-5 completed it, ranks 6 and 7 completed another one last: equally far called."""
    job = Rows(world=8)
    waiting(job, range(3), "world", 9)
    idle(job, range(3, 6), "world", 9)
    for rank in (6, 7):
        job.dump(rank, call("world", 8 - rank % 2, done=True), call("world", 9))
    orders = {tuple((row.ranks, row.last_completed) for row in job.incident().views.collectives) for _ in range(8)}
    assert orders == {(("7", 7), ("0-2,6", 8), ("3-5", 9))}
