"""The page's own words in Chinese. Templates are written in English; their texts, and the names that their macros are given,
are looked up here before a template is compiled. What comes from a bundle is never touched: it is not there yet."""

import re
from collections.abc import Mapping

# Between these stands text: tags (whose attributes may hold expressions), expressions, statements, comments.
_TOKEN = re.compile(r"(<(?:[^<>{]|\{\{.*?\}\}|\{%.*?%\})*>|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\})", re.DOTALL)
_ATTRIBUTE = re.compile(r'(?<= )(title|aria-label)="([^"{]+)"')
_MACRO = re.compile(r'\bm\.(?:more|scroll|folded)\([^\n]*?"([^"]+)"')

TEXTS: Mapping[str, str] = {
    "(not certain)": "（不确定）", ", logarithmic": "，对数坐标", ", without": "，不含", "Copy": "复制", "Copy skeleton": "复制模板",
    ". Bars: operations of one rank of each track; pale: never completed. Numbers: events, below. Each part between breaks has its own scale.":
        "。横条：每条轨道中一个 rank 的操作；浅色：未完成。编号：下方的事件。断点之间各段的比例尺不同。",
    "; the rest is in incident.json.": "；其余见 incident.json。", ": too long for a page, and in incident.json": "：页面放不下，见 incident.json",
    "A rank votes in each step in which it differs from its peers by more than they do from each other. Who waits least is late: the others wait for it.":
        "若某个 rank 在一个 step 中与同类 rank 的差异超过它们彼此间的差异，则计一票。等待最少者到得最晚：其他 rank 都在等它。",
    "All stacks merged, outermost frame first; a box ends where ranks part. Bold: the job's own code. Marked: where few are.":
        "合并后的全部调用栈，最外层帧在前；方框止于各 rank 分开之处。粗体：作业自身的代码。已标记：少数 rank 所在之处。",
    "All evidence, with its lines": "全部依据及原始行", "frames of libraries": "个库的帧", "read as:": "解析为：",
    "Copy summary": "复制概要", "Coverage: what this verdict rests on": "判定所依据的证据", "GPU hours": "GPU 时", "Link to this fact": "本条依据的链接",
    "In the order of the report. A tensor without a row was not observed, which is not the same as fine.":
        "按报告中的顺序。没有行的张量是未观测，不等于正常。",
    "Map of first bad values by module and rank": "首个异常值分布（模块 × rank）",
    "Modules in the order in which they turned bad; the darker, the earlier. Framed: the first anomaly.":
        "按出现异常的先后排列模块；颜色越深越早。加框：首个异常。",
    "No event of the hardware, the launcher or the job stands in this time.": "这段时间内没有硬件、启动器或作业的事件。", "No incident": "无事故",
    "No record of a host that is named or suspected.": "没有故障节点或可疑节点的记录。",
    "No setting differs between ranks or hosts, as far as settings were seen.": "在已读到的配置中，各 rank 与各节点之间没有差异。",
    "Nothing.": "无需处理。", "Other explanations:": "其他解释：", "Postmortem skeleton (Markdown)": "复盘模板（Markdown）", "Sections": "目录",
    "Showing": "显示", "Skip to the evidence": "跳到依据", "Summary as text": "概要（文本）", "The bundle holds no incident.": "证据包中没有事故。",
    "This page holds its data as JSON in the element": "本页数据以 JSON 形式存于元素", "Time from the": "时间起点：",
    "Upright line: the onset. Crosses: NaN or Inf. Dashed: the largest number of the format.": "竖线：异常起点。叉：NaN 或 Inf。虚线：该格式的最大值。",
    "A step of middle length. Blue: work, red of who is at fault; orange: the host; pale: waiting and transfers.":
        "长度居中的一个 step。蓝：计算，故障方为红；橙：主机；浅色：等待与传输。",
    "What the steps would be shorter by, replayed without each in turn.": "依次去掉各项后回放，step 可缩短的比例。",
    "Shares of the time of all steps": "全部 step 时间的构成", "Operations of ranks in one step": "一个 step 内各 rank 的操作",
    "Votes by phase, group and rank": "得票（按阶段、分组与 rank）",
    "Who waits stands right of what it waits for. Round: operations. Dashed, with a question mark: not certain.":
        "等待者在右，所等待者在左。圆角：操作。虚线加问号：不确定。",
    "among": "比较范围", "and": "及另外", "at step": "，step", "attempt": "第几次启动：", "beyond it": "偏离", "chosen": "采用", "command": "命令",
    "detector": "检测器", "errors": "错误", "event": "事件", "event, and whether it counts": "事件，是否计入", "explanation": "解释",
    "file (# for a number)": "文件（# 代表数字）", "files": "文件", "files,": "个文件，", "from": "相对", "from, to": "起止", "group": "进程组", "here": "个在此",
    "host, device, ranks": "节点、设备、rank", "hosts": "节点", "hosts of the job": "作业的节点", "how": "方式", "in": "位于", "in question": "存疑",
    "its peers' median": "同类中位数", "kind": "类别", "last completed": "最后完成", "last enqueued": "最后入队", "leaves over": "未解释的现象",
    "lines": "行", "link, GB/s": "链路，GB/s", "lost: stood still, or to be done again": "损失：停滞，或需重算", "mark": "标记", "measured apart": "测量离群",
    "members": "成员", "micro-batch": "micro-batch", "module": "模块", "more": "个", "more nodes are not drawn.": "个节点未画出。",
    "more ranks are not drawn.": "个 rank 未画出。", "more votes are not drawn.": "票未画出。", "none was found.": "未发现。", "not as on the others": "与其他节点不同",
    "not here": "个不在此", "not observed": "未观测", "not understood": "未识别", "note": "说明", "of": "/", "open operation": "未完成的操作", "operation": "操作",
    "other values": "个其他取值", "phase": "阶段", "place": "位置", "rack, switch": "机架、交换机", "ran": "已运行", "rank": "rank", "ranks": "rank", "read as": "识别为",
    "recognised": "已识别", "records": "记录", "rests on": "依据", "role": "角色", "seq": "序号", "setting": "配置项", "silent since it stopped": "停止后无记录",
    "size": "大小", "source": "来源", "state": "状态", "step": "step", "steps that vote": "计票的 step", "stopped: last step or operation completed": "停止：最后完成的 step 或操作",
    "tensor": "张量", "time": "时间", "value": "值", "values, and who has them": "取值及其 rank", "what": "内容", "what would decide": "如何判定", "where": "位置",
    "who": "对象", "why not": "不采用的原因", "zone unknown": "时区未知", "· generated": "· 生成于",
}  # fmt: skip
MACROS: Mapping[str, str] = {  # what lists are of, and the names of what is folded or drawn
    "actions": "项处理", "explanations": "种解释", "rows": "行", "settings": "项配置", "kinds of files": "类文件", "events": "个事件", "attempts": "次启动",
    "incidents": "个事故", "findings": "条结论", "limits": "条局限", "modules": "个模块", "frames": "帧", "classes of stacks": "类调用栈", "classes": "类",
    "places": "处", "facts": "条依据", "files": "个文件", "lines before and after": "前后各行", "more tensors": "更多张量", "more facts": "更多依据", "more places like this": "更多同类位置",
    "more to do": "更多处理", "more events": "更多事件", "more votes": "更多得票", "more explanations": "更多解释", "more attempts": "更多启动",
    "more curves": "更多曲线", "Sources": "来源", "Files by kind of name": "文件（按名称归类）", "Files by kind of name: ": "文件（按名称归类）：",
    "By parallel group": "按并行组", "Classes of equal stacks": "相同调用栈归类", "The same as a list": "列表形式", "As a table": "表格形式",
    "Settings that differ between ranks or hosts": "各 rank 或各节点之间不同的配置", "Tree of stacks": "调用栈树",
    "Drawing of who waits for whom; the same as a list below": "等待关系图；下方有列表",
    "Map of first bad values; the same as a table below": "首个异常值分布图；下方有表格", "Drawing of the timeline; events as a table below": "时间线图；下方有事件表",
    "Map of votes by phase, group and rank; the same as a table below": "得票分布图（按阶段、分组与 rank）；下方有表格",
    "Bar of shares of the time of all steps; the same as text below": "全部 step 时间的构成；下方有文字",
    "Drawing of one step; a track per rank, by stage": "一个 step 的图示；每个 rank 一条轨道，按 stage 排列",
    "Table: more events": "表：更多事件", "Table: more tensors": "表：更多张量", "Table: more votes": "表：更多得票", "Table: environment": "表：环境差异",
    "Table: attempts": "表：历次启动", "Table: racks and switches": "表：机架与交换机", "Table: votes": "表：得票", "Table: more attempts": "表：更多启动",
    "Table: other hardware": "表：其他硬件事件", "Table: other collectives": "表：其他集合通信", "Table: links of ": "表：链路，", "Table: hardware": "表：硬件事件",
    "Table: timeline": "表：时间线", "Table: explanations": "表：解释", "Table: collectives": "表：集合通信", "Table: tensors": "表：张量",
    "Table: more explanations": "表：更多解释", "Table: first bad values": "表：首个异常值",
}  # fmt: skip


def translated(source: str, headings: Mapping[str, str]) -> str:
    """A template with its own words in Chinese; a word without one stays. `headings`: names that sections have already."""
    known = {**TEXTS, **headings, **MACROS}
    parts = _TOKEN.split(source)
    for at, part in enumerate(parts):
        if at % 2 == 0:
            words = " ".join(part.split())
            parts[at] = part.replace(part.strip(), TEXTS[words]) if words in TEXTS else part
        elif part.startswith("<"):
            parts[at] = _ATTRIBUTE.sub(lambda found: f'{found[1]}="{TEXTS.get(found[2], found[2])}"', part)
        else:
            parts[at] = _MACRO.sub(
                lambda found: found[0].replace(f'"{found[1]}"', f'"{known.get(found[1], found[1])}"'), part
            )
    return "".join(parts)


def texts_of(source: str) -> list[str]:
    """The words that a template writes itself."""
    parts = _TOKEN.split(source)
    told = [" ".join(part.split()) for part in parts[::2]]
    told += [found[1] for part in parts[1::2] if part.startswith("<") for found in [*_ATTRIBUTE.findall(part)]]
    return [words for words in told if re.search("[A-Za-z]{2}", words)]
