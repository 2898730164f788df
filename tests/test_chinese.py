"""The report in Chinese: every word of the contract has its own, and no sentence mixes two languages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.incident import Action
from forensics.model.names import ActionKind, Cause, DecisionKind, Domain, Kind, Reason, Site, Status
from forensics.model.said import Said, zh
from forensics.report import Report
from reports import html, markdown, meanings, terminal, words, words_zh
from reports.answer import answer
from reports.chinese import answer as chinese_answer
from reports.chinese import figures, fill, todo
from reports.explanations import WORDS, of_rank, of_word
from reports.html import page_zh
from reports.language import of_environment
from reports.layout import cells, wrap
from tests.analysed import NAMES, SAMPLES, heard
from tests.analysed import sample as report

ENGLISH = re.compile(
    r"\b(the|is|are|was|of|and|its|it|that|which|no|not|for|by|from|with|waits?|ended|entered)\b", re.I
)


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("KIND", get_args(Kind)),
        ("CAUSE", get_args(Cause)),
        ("STATUS", get_args(Status)),
        ("REASON", get_args(Reason)),
        ("ACTION", get_args(ActionKind)),
        ("DOMAIN", get_args(Domain)),
        ("DECISION", get_args(DecisionKind)),
        ("STATE", words.STATE),
        ("VALUE", words.VALUE),
    ],
)
def test_every_word_has_both_languages(table: str, names: tuple[str, ...]) -> None:
    assert set(getattr(words, table)) == set(getattr(words_zh, table)) == set(names)


def test_every_cause_site_and_kind_has_its_chinese_sentence() -> None:
    assert [cause for cause, row in CAUSES.items() if not (row.chinese and row.example)] == []
    assert set(words_zh.SITE) == set(get_args(Site))
    assert set(words_zh.OPEN) == set(get_args(Kind))
    assert set(words_zh.STATUS_NAME) == set(get_args(Status))


def test_every_word_is_explained_in_both_languages() -> None:
    assert set(meanings.STATUSES) == set(get_args(Status))
    assert set(meanings.REASONS) == set(get_args(Reason))
    assert [word for word in WORDS if not of_word(word) or not of_word(word, "zh")] == []


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({"R": "rank 5（node3）", "O": "dp_2 的 all_reduce #25", "C": "train，a.py:7", "A": "卡在加载数据"},
         "rank 5（node3）卡在加载数据（train，a.py:7）"),
        ({"R": "rank 5（node3）", "O": "dp_2 的 all_reduce #25", "C": "", "A": ""}, "rank 5（node3）未进入 dp_2 的 all_reduce #25"),
        ({"R": "rank 5", "O": "", "C": "", "A": ""}, "rank 5 未进入集合通信"),
    ],
)  # fmt: skip
def test_the_fullest_form_whose_fields_are_known_is_taken(known: dict[str, str], sentence: str) -> None:
    assert fill(CAUSES["rank_absent"].chinese, known) == sentence


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same_figures(name: str) -> None:
    incident = report(name).incidents[report(name).primary]
    assert figures(chinese_answer(incident).sentence) == figures(answer(incident).sentence)


@pytest.mark.parametrize(
    ("settings", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_environment_chooses(settings: dict[str, str], language: str) -> None:
    assert of_environment(settings) == language


QUOTED = re.compile(r"“[^”]*”|\([^)]*\)")


def _texts(finding: Finding) -> Iterator[str]:
    yield finding.summary
    yield from (claim.text for claim in finding.claims)
    yield from finding.collect
    yield from (text for action in finding.actions for text in (action.target, action.reason))


@pytest.mark.parametrize("name", NAMES)
def test_what_detectors_say_is_said_in_both_languages(name: str) -> None:
    texts = [text for finding in heard(name)[1] for text in _texts(finding)]
    assert [text for text in texts if not isinstance(text, Said) and " " in text] == [], "but for the name of a thing"
    assert [chinese for text in texts if ENGLISH.search(QUOTED.sub("", chinese := zh(text)))] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_is_a_sentence_in_both_languages(name: str) -> None:
    """Made by `said.sentence`; else the next one is glued to it. A quotation may close it."""
    summaries = [finding.summary for finding in heard(name)[1] if finding.summary]
    assert [text for text in summaries if text.rstrip("”)")[-1:] != "." or zh(text).rstrip("”）")[-1:] != "。"] == []


def _of_verdict(report: Report) -> Iterator[str]:
    for one in report.incidents:
        yield one.verdict.status_rule
        yield one.decision.reason
        yield from (other.why_not for other in one.alternatives)
        yield from (text for action in one.actions for text in (action.target, action.reason))
        yield from (item.claim for item in one.evidence if item.claim not in {ref.text for ref in item.refs})
    yield from (*report.limits, *report.ledger.notes, *(row.note for row in report.environment))


@pytest.mark.parametrize("name", NAMES)
def test_what_the_verdict_and_the_limits_say_is_said_in_both_languages(name: str) -> None:
    texts = [*_of_verdict(report(name))]
    assert [text for text in texts if not isinstance(text, Said) and " " in text] == [], "but for the name of a thing"
    assert [chinese for text in texts if ENGLISH.search(QUOTED.sub("", chinese := zh(text)))] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_sentence_mixes_two_languages(name: str) -> None:
    text = terminal.render(report(name), color=False, width=None, language="zh")
    quoted = re.compile(r"“[^”]*”|^ +\d .*$|^ +\$ .*$|\([^)]*\)|^此前正常.*$|^反对.*$|^未记录.*$", re.M)
    assert ENGLISH.findall(quoted.sub("", text)) == []
    assert re.match(r"[\u4e00-\u9fff]+(（[\u4e00-\u9fff]+）)?  ", text), "the first line begins with the kind"
    assert text.splitlines()[1].startswith(("立即处理", "待收集"))


@pytest.mark.parametrize(
    ("kind", "target", "told"),
    [
        ("check_data", Said("ranks 2 and 6", "rank 2、6"), "检查 rank 2、6"),  # a rank is no data
        ("check_data", Said("the data of step 4", "step 4"), "检查 step 4 的数据"),
        ("inspect_hardware", "", "检查硬件"),
    ],
)
def test_what_to_do_names_its_object_where_there_is_one(kind: ActionKind, target: str, told: str) -> None:
    assert todo(Action(kind=kind, target=target, command=None, reason="")) == told


def test_markdown_and_page_speak_it_too() -> None:
    shown = markdown.render(report("data_loader_stall"), "zh")
    assert "# 卡死：`rank 5（localhost）卡在加载数据（train" in shown and "## 证据" in shown and "Evidence" not in shown
    page = html.render(report("data_loader_stall"), language="zh")
    assert (
        '<html lang="zh-CN">' in page
        and "立即处理</h2>" in page
        and "Do now" not in re.sub(r"<script.*", "", page, flags=re.S)
    )
    assert "rank 3 未被判定为故障 rank；状态：等待其他 rank。" in of_rank(report("data_loader_stall"), 3, "zh")


def test_chinese_lines_break_without_spaces_and_not_before_a_mark() -> None:
    lines = wrap("作业卡死，故障 rank 无法判定：成员均已进入，无计数表明谁停止。" * 3, 20)
    assert max(map(cells, lines)) <= 20 and not any(line[0] in "，：。" for line in lines)
    assert "".join(lines).replace(" ", "") == "作业卡死，故障rank无法判定：成员均已进入，无计数表明谁停止。" * 3


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("logs_hf_spike", ["数值异常  loss 在 step 45 从约 0.07862 升至 52.18。", "立即处理      检查 step 41-50 的数据：突增多由数据或学习率引起。"]),
        ("rank_killed", ["崩溃  rank 4（localhost）被 SIGKILL 终止（发送者未记录）；另有 5 个 rank 退出。",
                         "立即处理      收集 rank 4 的日志、内核日志、调度器日志。"]),
        ("logs_hf_nan_gradient", ["待收集        下次运行时收集该 step 前后所有 rank 的张量统计。"]),
        ("data_exception", ["耗时          启动 12.0 s，训练 1.8 s，停滞 2.4 s", "有效训练      1.8 s / 16.2 s（11%）"]),
        ("nan_birth", ["数值异常  rank 1（localhost）产生 NaN：blocks.1.attend 的 output，Attend，前向，step 1，micro-batch 1。"]),
        ("logs_hf_healthy", ["已读取        rank 未知，节点未知，hf trainer：1 个文件，steps：1 个文件，时钟误差未知，6.7% 的行未识别"]),
        ("healthy_dp", ["正常  未发现故障：8 个进程正常结束、最后完成 step 7。"]),
    ],
)  # fmt: skip
def test_it_says_who_what_and_what_to_do_as_the_english_does(name: str, lines: list[str]) -> None:
    text = terminal.render(report(name), color=False, width=None, language="zh")
    assert [line for line in lines if line not in text.splitlines()] == []


TEMPLATES = sorted(
    [
        *(SAMPLES.parent / "reports" / "html" / "parts").glob("*.j2"),
        SAMPLES.parent / "reports" / "html" / "page.html.j2",
    ]
)
CODE = {"#incident-json"}
CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name.partition(".")[0])
def test_every_word_of_the_page_itself_has_its_chinese(path: Path) -> None:
    source = path.read_text()
    named = re.findall(r'\bm\.(?:more|scroll|folded)\([^\n]*?"([^"]+)"', source)
    titles = [
        word for call in re.findall(r"voice\.title\(([^)]*)\)", source) for word in re.findall(r'"([^"]+)"', call)
    ]
    assert set(page_zh.texts_of(source)) - set(page_zh.TEXTS) - CODE == set()
    assert set(named) - {*page_zh.TEXTS, *page_zh.MACROS, *words_zh.HEADING} == set()
    assert set(titles) - set(words_zh.HEADING) == set()


def test_a_template_is_translated_before_anything_of_a_bundle_is_in_it() -> None:
    source = '<th title="not observed">who</th><td>{{ row.who }}</td>{% call m.folded("Stacks") %}<p>Copy that</p>'
    assert page_zh.translated(source, words_zh.HEADING) == (
        '<th title="未观测">对象</th><td>{{ row.who }}</td>{% call m.folded("调用栈") %}<p>Copy that</p>'
    )


@pytest.mark.parametrize("name", ["data_loader_stall", "inf_in_mlp", "slow_compute", "rank_killed", "healthy_dp"])
def test_the_body_of_the_page_is_chinese(name: str) -> None:
    page = re.sub(r"<(script|style|pre|code|title).*?</\1>", "", html.render(report(name), language="zh"), flags=re.S)
    heads = re.findall(r"<(?:h[1-4]|th|summary)\b[^>]*>(.*?)</", page, flags=re.S)
    plain = [re.sub("<[^>]*>", "", head).strip() for head in heads]
    own = {"micro-batch", "rank", "step"}  # words that Chinese engineers write so
    assert [head for head in plain if re.search("[A-Za-z]{3}", re.sub(r"rank \d+", "", head)) and not CHINESE.search(head)
            and head not in own] == []  # fmt: skip
