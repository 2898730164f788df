"""Settings that differ from rank to rank, host to host and attempt to attempt, and values out of their range."""

from typing import Any

import pytest

from forensics.model.incident import EnvironmentRow
from forensics.views.environment import environment
from parsers.schema.tables import TABLE_NAMES, table


def _rows(settings: list[dict[str, Any]], **others: list[dict[str, Any]]) -> dict[Any, Any]:
    rows = [{"file": "a.log", "line": line, "scope": "environment"} | row for line, row in enumerate(settings, 1)]
    return {name: table(name, rows if name == "settings" else others.get(name, [])) for name in TABLE_NAMES}


def _listed(settings: list[dict[str, Any]], **others: list[dict[str, Any]]) -> list[EnvironmentRow]:
    return environment({0: _rows(settings, **others)})


def _of_ranks(name: str, *values: str) -> list[dict[str, Any]]:
    return [{"name": name, "value": value, "rank": rank} for rank, value in enumerate(values)]


def _of_hosts(name: str, *values: str, scope: str = "version") -> list[dict[str, Any]]:
    return [{"name": name, "value": value, "host": f"node{at}", "scope": scope} for at, value in enumerate(values)]


def test_nothing_set_is_nothing_listed() -> None:
    assert environment({}) == []
    assert _listed([]) == []
    assert _listed(_of_ranks("NCCL_DEBUG", "INFO", "INFO")) == []


def test_a_version_with_and_without_its_build_is_one() -> None:
    assert _listed(_of_hosts("nccl", "2.26.5+cuda12.4", "2.26.5", "2.26.5")) == []
    (row,) = _listed(_of_hosts("nccl", "2.26.5+cuda12.4", "2.26.5+cuda12.4", "2.26.5+cuda12.8", "2.26.5"))
    assert set(row.values) == {"2.26.5+cuda12.4", "2.26.5+cuda12.8", "2.26.5"}


def test_the_odd_one_comes_first_in_the_list_and_in_its_row() -> None:
    rows = _listed(
        [
            *_of_ranks("NCCL_ALGO", "Ring", "Ring", "Tree", "Tree"),
            *_of_ranks("NCCL_IB_HCA", *["mlx5_0"] * 7, "mlx5_1"),
        ]
    )
    assert [row.name for row in rows] == ["NCCL_IB_HCA", "NCCL_ALGO"]
    assert list(rows[0].values.items()) == [("mlx5_1", "rank 7"), ("mlx5_0", "ranks 0-6")]
    assert (rows[0].note, rows[1].note) == ("1 of 8 differ from the most", "two halves differ")


@pytest.mark.parametrize(
    ("settings", "listed"),
    [
        pytest.param(_of_hosts("driver", "535.1", "535.1", "550.2"), {"550.2": "node2", "535.1": "node0, node1"}, id="driver"),
        pytest.param(
            _of_hosts("mig_mode", "Disabled", "Off", "Enabled", scope="gpu 0000:19:00.0"),
            {"Enabled": "node2 0000:19:00.0", "Disabled": "node0 0000:19:00.0, node1 0000:19:00.0"},
            id="a mode of a device, whatever the tool calls it",
        ),
        pytest.param(
            _of_hosts("nic_firmware", "20.35", "20.35", "20.31", scope="nic mlx5_0"),
            {"20.31": "node2 mlx5_0", "20.35": "node0 mlx5_0, node1 mlx5_0"}, id="an adapter",
        ),
        pytest.param(_of_ranks("NCCL_SOCKET_IFNAME", "eth0", "lo"), {"eth0": "rank 0", "lo": "rank 1"}, id="an interface"),
        pytest.param(_of_ranks("MASTER_PORT", "1", "1", "2"), {"2": "rank 2", "1": "ranks 0-1"}, id="where all must meet"),
        pytest.param(_of_ranks("torch", "2.9", "2.9", "2.8"), {"2.8": "rank 2", "2.9": "ranks 0-1"}, id="a version"),
    ],
)  # fmt: skip
def test_a_difference_says_who_has_which_value(settings: list[dict[str, Any]], listed: dict[str, str]) -> None:
    (row,) = _listed(settings)
    assert list(row.values.items()) == list(listed.items())


@pytest.mark.parametrize(
    "settings",
    [
        _of_ranks("RANK", "0", "1"),
        _of_ranks("LOCAL_RANK", "0", "1"),
        _of_ranks("SLURM_PROCID", "0", "1"),
        _of_ranks("NCCL_LISTEN_PORT", "1", "2"),
        _of_ranks("CUDA_VISIBLE_DEVICES", "0", "1"),
        _of_ranks("NCCL_DEBUG_FILE", "/logs/rank_0.log", "/logs/rank_1.log"),
        _of_hosts("NCCL_TOPO_FILE", "/etc/node0.xml", "/etc/node1.xml"),
        _of_ranks("TMP", "a", "b", "c", "d"),
        _of_hosts("boot_time_ns", "1", "2", scope="clock"),
        _of_hosts("section", "lspci", "dmesg"),
    ],
    ids=lambda rows: rows[0]["name"],
)
def test_what_differs_by_design_is_not_listed(settings: list[dict[str, Any]]) -> None:
    assert _listed(settings) == []


def test_a_host_is_taken_from_the_path_and_a_rank_from_its_process() -> None:
    settings = [
        {"name": "vbios", "value": "1", "file": "hosts/a/q.txt", "scope": "version"},
        {"name": "vbios", "value": "2", "file": "hosts/b/q.txt", "scope": "version"},
        {"name": "NCCL_ALGO", "value": "Ring", "host": "a.cluster", "pid": 5},
        {"name": "NCCL_ALGO", "value": "Tree", "host": "b.cluster", "pid": 5},
    ]
    files = [{"file": "hosts/a/q.txt", "host": "a"}, {"file": "hosts/b/q.txt", "host": "b"}]
    ranks = [{"rank": 8, "host": "a", "pid": 5, "file": "x"}, {"rank": 9, "host": "b", "pid": 5, "file": "x"}]
    rows = _listed(settings, files=files, ranks=ranks)
    assert [row.values for row in rows] == [{"Ring": "rank 8", "Tree": "rank 9"}, {"1": "a", "2": "b"}]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("NCCL_IB_TIMEOUT", "23", "out of its range 1-22; it stands for 34.4 s a try, 241 s in 7 tries"),
        ("NCCL_IB_TIMEOUT", "0", "out of its range 1-22; 0 waits for ever"),
        ("NCCL_IB_TIMEOUT", "22", None),
        ("NCCL_IB_RETRY_CNT", "8", "out of its range 0-7, it has three bits"),
        ("NCCL_IB_RETRY_CNT", "0", "0: one lost packet ends the job"),
        ("NCCL_IB_RETRY_CNT", "7", None),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", "off: a watchdog that times out"),
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3", None),
        ("NCCL_ASYNC_ERROR_HANDLING", "1", "the old name: since PyTorch 2.2 it is TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("TORCH_MCCL_ASYNC_ERROR_HANDLING", "0", "off"),
        ("NCCL_IB_TIMEOUT", "nonsense", None),
    ],
)
def test_a_value_out_of_its_range_is_listed_though_all_agree(name: str, value: str, said: str | None) -> None:
    rows = _listed(_of_ranks(name, value, value))
    assert [row.values for row in rows] == ([{value: "ranks 0-1"}] if said else [])
    assert all(row.note.startswith(said or "") for row in rows)


def test_timeouts_that_differ_say_how_long_they_are_with_the_retries_that_are_set() -> None:
    (row,) = _listed([*_of_ranks("NCCL_IB_TIMEOUT", "14", "18", "18"), *_of_ranks("NCCL_IB_RETRY_CNT", "3", "3", "3")])
    assert row.note == (
        "1 of 3 differ from the most; 14: 0.0671 s a try, 0.201 s in 3 tries, 18: 1.07 s a try, 3.22 s in 3 tries"
    )


def test_a_setting_that_changed_between_attempts_is_listed_and_a_steady_one_is_not() -> None:
    before = _rows([*_of_ranks("nccl", "2.26", "2.26"), *_of_ranks("torch", "2.9", "2.9")])
    after = _rows([*_of_ranks("nccl", "2.27", "2.27"), *_of_ranks("torch", "2.9", "2.9")])
    assert environment({0: before, 1: after}) == [
        EnvironmentRow(name="nccl", values={"2.27": "attempt 1", "2.26": "attempt 0"}, note="changed between attempts")
    ]


def test_long_lists_and_values_are_cut_and_that_is_said() -> None:
    many = [{"name": "uname", "value": f"{at % 20}" * 300, "host": f"node{at:03}"} for at in range(200)]
    (row,) = _listed(many)
    assert len(row.values) == 13
    assert row.values["…"] == "8 more values"
    assert all(len(value) < 180 for value in row.values)
    assert next(iter(row.values.values())).endswith("and 2 more")


def _placed(world: int, *hosts: str) -> list[dict[str, Any]]:
    return [
        {"rank": at, "host": host, "world_size": world, "file": "a.log", "how": "log"} for at, host in enumerate(hosts)
    ]


def test_hosts_that_were_replaced_and_a_job_that_shrank_are_listed() -> None:
    before, after = _placed(4, "a", "a", "b", "b"), _placed(4, "a.cluster", "a", "c", "c")
    assert environment({0: _rows([], ranks=before), 1: _rows([], ranks=after)}) == [
        EnvironmentRow(
            name="hosts", values={"c": "joined in attempt 1", "b": "left after attempt 0"},
            note="a host that is new may have brought the fault",
        ),
        EnvironmentRow(name="hosts, replaced", values={"b → c": "ranks 2-3"}, note="changed between attempts"),
    ]  # fmt: skip
    (row,) = environment({0: _rows([], ranks=before), 1: _rows([], ranks=_placed(2, "a", "a"))})
    assert (row.name, row.values) == ("world size", {"2": "attempt 1", "4": "attempt 0"})
    assert environment({0: _rows([], ranks=before), 1: _rows([], ranks=_placed(4, "a"))}) == []


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [
        ("TIMEOUT(ms)", "86400000", "no wait is given up"),
        ("TORCH_NCCL_ENABLE_MONITORING", "0", "nothing notices a watchdog"),
        ("TORCH_FR_BUFFER_SIZE", "0", "records nothing"),
        ("ecc_mode", "Disabled", "neither corrected nor reported"),
        ("mig_mode", "Enabled", "cut into instances"),
    ],
)
def test_what_could_never_fire_or_is_left_off_is_told(name: str, value: str, note: str) -> None:
    (row,) = _listed(_of_ranks(name, value, value))
    assert note in row.note


@pytest.mark.parametrize(
    ("name", "value"), [("TIMEOUT(ms)", "600000"), ("TORCH_FR_BUFFER_SIZE", "2000"), ("ecc_mode", "Enabled")]
)
def test_what_is_in_order_is_not_told(name: str, value: str) -> None:
    assert _listed(_of_ranks(name, value, value)) == []


def test_hosts_that_were_replaced_are_told_old_to_new() -> None:
    def placed(*hosts: str) -> list[dict[str, Any]]:
        return [{"rank": rank, "host": host, "file": "a.log", "line": rank} for rank, host in enumerate(hosts)]

    rows = environment({0: _rows([], ranks=placed("a", "a", "b", "b")), 1: _rows([], ranks=placed("a", "a", "c", "c"))})
    assert [row.values for row in rows if row.name == "hosts, replaced"] == [{"b → c": "ranks 2-3"}]
    moved = environment(
        {0: _rows([], ranks=placed("a", "a", "b", "b")), 1: _rows([], ranks=placed("c", "a", "a", "c"))}
    )
    assert [row for row in moved if row.name == "hosts, replaced"] == []
