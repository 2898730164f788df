"""What a record that holds a traceback tells of ranks is about whom its writer saw fail: it says nothing of who the writer is."""

import pytest

from parsers.who.lines.introductions import introduction
from parsers.who.told.told_lines import Line, statements

_TRACE = 'Traceback (most recent call last):\\n  File \\"/job/t.py\\", line 3, in f\\n    g()\\nRuntimeError: x\\n'
FORMS = {
    "a repr": "workers failed: {}Worker(context=Context(world_rank=1, world_size=4, local_rank=1, node_rank=0))",
    "fields": "{}rank=1 world_size=4 exited",
    "pairs": "lost rank: 1, world_size: 4 {}",
}


@pytest.mark.parametrize("form", FORMS)
def test_only_a_record_without_a_traceback_introduces_its_writer(form: str) -> None:
    for trace, is_told in ((_TRACE, False), ("", True)):
        text = FORMS[form].format(trace)
        assert (introduction(text) is not None) == is_told
        assert bool([*statements([Line("a.log", 1, None, text, text)])]) == is_told
