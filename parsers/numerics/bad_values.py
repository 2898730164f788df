"""Words by which programs say that a value is no number: of a loss, of gradients, of what a module made.

    loss is nan  |  grad_norm=nan  |  detected NaN in gradients  |  non-finite local loss nan at step 21
    nan in layer 1! step=13 rank=2 in_absmax=4.1  |  NaN detected in moe.experts.6 output  |  block 3: output contains inf
    expert 3 output absmax 0 nonfinite 8192                                                     (a count of them, of a module)
    FloatingPointError: invalid value (nan) encountered in mul                                  (JAX with jax_debug_nans)

Columns of an event `nan_assert`: rank where the text tells one that is of no group; code = loss, grad_norm, module, operator or batch; step where told; in `detail` the module as it is
printed, the operator, `input` where the line shows that the value was bad before it came there, and `scope` where it says that it
is of all ranks, or of an evaluation. A gradient norm that is Inf is
an event `other`: a loss scaler skips such a step. A line that asks, denies, advises or quotes says nothing.

Printed by: training scripts, JAX, numpy.
Versions: any.
Source: jax/_src/dispatch.py, api.py and pjit.py (an operator's name, or that of a program compiled as a whole: pjit in 0.4; later
versions say `('jit', 'nan'). Because …` of it, which tells no operator); numpy's src/umath/extobj.c. Not read: the words of
training scripts; forms as users print them.
"""

import json
from collections.abc import Mapping
from typing import Any

from parsers.text import vocabulary
from parsers.text.patterns import regex

_COMMENT = regex(r"#+ ")  # of whoever put the log together
# And no time.
_STEP = regex(r"(?i)(?<![a-z])(?:step|iter(?:ation)?|update|ba(?==))[ =:#]{1,2}(\d{1,15})\b(?! ?(?:ms|s|sec|min|h)\b)")
_BAD = r"(?P<{name}>[+-]?(?:nan|inf(?:inity)?))(?![\w?-]|\.\S)"
_NAMED = r"(?:loss|grad\w{0,30}|norm)"
_THEN = r"(?:es|s)?['\"]?(?:\s*(?:[=:]|is|was|became|are|now)\s*|\s)['\"(\[]*(?:tensor\()?"
_SEEN = (
    rf"|\b(?:found|detected|encountered|got|hit|returned)\b.{{0,20}}?\b{_BAD.format(name='found')}.{{0,40}}?\b(?P<where>loss|grad\w{{0,30}}|norm)"
    rf"|\b{_BAD.format(name='seen')}.{{0,30}}?\b(?P<there>loss|grad\w{{0,30}}|norm)\w{{0,30}}\b.{{0,30}}?\b(?:found|detected|encountered)\b"
)
_VALUE = regex(rf"(?i)(?<![a-z])(?P<what>[\w./ -]{{0,24}}?{_NAMED}){_THEN}{_BAD.format(name='value')}{_SEEN}")
_VALUE_AT_ALL = regex(rf"(?i){_NAMED}{_THEN}{_BAD.format(name='value')}{_SEEN}")  # without what a search is slow by
_OF_IT = 4  # words, the value among them, that say what a figure is of
_NO_VALUE = regex(r"(?i)(?<![a-z0-9])(?:best|min|max|init|initial|clip|threshold|limit|from|previous|check)(?=[\W_])")
# Words after a quote that is still open.
_QUOTATION = regex(r"""(?:^|[\s:=(\[])['"]\w{1,40}(?: [^\s'"]{1,60}){3,400}$""")

# What a module is called: by what it is and its number, or by its path.
_MODULE = r"(?P<{name}>(?:(?:layer|block|expert|stage|module|head)s?[ .:#_]{{0,2}}\d{{1,6}}|[a-z_]\w{{0,60}}(?:\.\w{{1,60}}){{1,12}})(?![\w/])(?!\.\w))"
_PART = r"(?:outputs?|inputs?|activations?|weights?|param(?:eter)?s?|grad(?:ient)?s?|forward|backward)"
_WORD = r"(?:nan|inf(?:inity)?|non-?finite)s?(?: values?)?"
_COUNT_WORD = r"(?:non-?_?finite|nans?|infs?)(?:_count|_elements| values| elements)?"
_IN_MODULE = regex(
    rf"(?i)\b{_WORD}(?: {_PART})?(?: (?:was|were|is|found|detected|seen|appeared|produced)){{0,3}} (?:in|at|from|after|inside|by)(?: the)?"
    rf"(?: {_PART})?(?: of)?(?: layer| module)? {_MODULE.format(name='inside')}(?P<part> {_PART})?"
    rf"|\b{_MODULE.format(name='of')}:? (?:{_PART} )?(?:has|contains|produced|returned|became|is|gave) (?:an? )?{_WORD}\b"
)
_COUNTED = regex(
    rf"(?i)(?:(?<![\w.])(?<!from )(?<!to ){_MODULE.format(name='of')}:?|\b(?:fwd|bwd|forward|backward) (?P<bare>[a-z_]\w{{1,60}}):) (?:{_PART} )?.{{0,80}}?(?<![a-z])(?:n_|num_|has_)?{_COUNT_WORD} ?[=:]? ?(?P<count>\d{{1,15}})(?![\w.])"
)
_FILE = regex(r"(?i)\.(?:py|csv|json|jsonl|txt|log|parquet|pt|pth|npy|yaml|yml|toml|sh|cu|cpp|tar|gz|bin|safetensors)$")
_INPUT_BAD = regex(r"(?i)(?<![a-z])in(?:put)?(?:_\w{1,20})?[ =:]{1,2}[+-]?(?:nan|inf)\b")
_INPUT_IS = regex(
    r"(?i)(?<![a-z])in(?:put)?(?:_\w{1,20})?[ =:]{1,2}(?P<given>[+-]?\d{1,20}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?)(?![\w.])"
)
_NOT_SO = regex(
    r"(?i)\b(?:no|not|never|without|if|when|whether|avoid|prevent|may|might|could|can|cause[sd]?|because|skip|ignore|why)\b"
)
_NONE = regex(r"(?i)^[!:]? ?[=:]? ?(?:0|false|none|no)\b")

_MENTION = r"(?:nan|inf(?:inity|inite)?|non-?finite|not finite)"
_THING = r"(?:loss(?:es)?|grad\w{0,30}|norms?|activations?|logits?|outputs?|hidden[_ ]states?|embeddings?|scores?)"
_NEAR = regex(
    rf"(?i)(?<![a-z]){_MENTION}(?![a-z]|\.\w).{{0,60}}?(?<![a-z])(?P<after>{_THING})(?![a-z])"
    rf"|(?<![a-z])(?P<before>{_THING})(?![a-z]).{{0,60}}?(?<![a-z]){_MENTION}(?![a-z]|\.\w)"
)
_BATCH = r"(?<!micro[-_ ])(?:batch(?:es)?|samples?|images?|pixels?)\b"
_OF_BATCH = regex(  # what the step was given, and nothing that was computed of it
    rf"(?i)(?<![a-z]){_MENTION}(?: values?| numbers?| elements?)? (?:in|of) (?:the |this |its |own )?(?:(?:input|data|training)[ _])?{_BATCH}"
    rf"|(?<![a-z])(?:(?:input|data|training)[ _])?{_BATCH} (?:has|have|had|contains?|contained|holds?|is|are|was) (?:an? )?{_MENTION}(?![a-z]|\.\w)"
)
_ASSERTS = regex(r"assert\b.{0,200}?\bis_?(?:finite|nan|inf)\(")
_OPERATOR = regex(r"\binvalid value \((?P<value>nan|inf)\) encountered in (?P<operator>\w[\w-]{0,79})(?P<compiled>\()?")
_PROGRAMS = ("jit", "pjit", "pmap", "xla_call", "xla_pmap")  # what JAX calls a program that it compiled as a whole
_OF_ALL = regex(
    r"(?i)(?<![a-z])(?:global|reduced|averaged?|avg|mean|total|synced|all-?reduced)[ _](?:\w{1,20}[ _]){0,2}(?:loss|grad|norm)"
)
# a loss scale that overflows is skipped; what autograd's check of a function says, anomaly_mode.py reads; what replicas differ in are numbers
_NOT_HERE = regex(r"(?i)\bloss[ _]scale\b|\bFunction '\w{1,200}' returned nan values|\binconsistent between workers\b")
# TensorFlow's check of a tensor, and its summaries, which refuse one.
_OF_TENSOR = regex(r"\b(?P<nan>Nan) in summary histogram for: |: Tensor had (?:\w+ and )?(?P<value>NaN|-?Inf)\b")
# Whatever an exception is about: how many were bad, or the bare word where nothing hedges it.
_TALLY = regex(
    r"(?i)(?<![a-z])(?:n(?:um)?_?)?(?P<of>nan|inf|non[_-]?finite)s?(?:_?(?:count|values|elements))? ?[=:] ?(?P<count>\d{1,18})(?![\w.])"
)
_BARE = regex(
    r"(?i)(?<![\w'\"`./])(?:(?<!=)(?P<inf>[+-]?infs?(?:inity)?)|nans?|non-?finite|not finite)(?![\w'\"`(=?/-]|\.\w)"
)
_HEDGED = regex(
    r"(?i)\b(?:no|not|never|without|if|when|whether|avoid|prevent|may|might|could|can|must|should|expect(?:s|ed)?|allow\w*|support\w*|argument|option|parameter|mode|policy|literal|unexpected|time-?outs?|timed|config\w*|enabled?|disabled?)\b"
    r"|\binvalid (?:value|choice) for\b|\bout of (?:memory|bounds)\b|\b(?:from|by|of|on) (?:rank|peer|node|worker) ?\d"
    r"|(?<![\d.])0 (?:of \d{1,18} )?(?:\w{1,20} ){0,3}\Z"
)
_HOLDS = regex(r"(?i)\bmust not contain\b")  # it did
_OF_PROGRAM = (
    "TypeError", "NameError", "AttributeError", "KeyError", "ImportError", "SyntaxError", "NotImplementedError",
    "UnicodeDecodeError",
)  # fmt: skip
_CHOICE = regex(r"(?i)\bmust be\b[^\n.]{0,80}?['\"](?:nan|inf(?:inity)?)['\"]")  # a word that an argument may be
_RANK = regex(r"(?i)(?<![\w-])(?P<of>[\w-]{1,20} )?rank[ :=_#]{0,2}(?P<rank>\d{1,7})\b")
_SPACES = (
    "tp", "pp", "dp", "ep", "cp", "sp", "local", "node", "group", "stage", "expert", "tensor", "pipeline", "data",
    "parallel",
)  # fmt: skip


def printed(text: str) -> dict[str, Any] | None:
    """Kind and columns of the event of a line of a log; None where it tells of no bad value."""
    return None if _COMMENT.match(text) else _figure(text) or _module(text)


def by_its_printer(made: Mapping[str, Any]) -> dict[str, Any]:
    """The same without the rank that the text tells: the line is known to be some rank's."""
    return {name: value for name, value in made.items() if name not in ("rank", "rank_space")}


def raised(code: str | None, message: str) -> dict[str, Any] | None:
    """The same of an exception, by its class and message: the class of Python's own for bad numbers, or nan, inf or non-finite
    beside a loss, a gradient, a norm, or what a module makes."""
    if _NOT_HERE.search(message) or _CHOICE.search(message):
        return None
    name = (code or "").rsplit(".", 1)[-1]
    if found := _OPERATOR.search(message):
        is_compiled = found["compiled"] is not None or found["operator"] in _PROGRAMS
        function = found["operator"] + ("(…)" if found["compiled"] else "")
        detail = {"value": found["value"], "function": function, "compiled": is_compiled}
        return _assert("operator", message, {"raised": True, "where": "operator"} | detail)
    if found := _OF_TENSOR.search(message):
        value = (found["nan"] or found["value"]).lower().lstrip("-")
        return _assert(_code(message[: found.end()]), message, {"raised": True, "where": "operator", "value": value})
    if module := _module(message, {"raised": True}):
        return module
    if (near := _NEAR.search(message)) is not None:
        code = _code(near["before"] or near["after"])
        return _assert(code, message, {"raised": True} | ({"where": "operator"} if code == "operator" else {}))
    if name == "FloatingPointError":
        return _assert("operator", message, {"raised": True, "where": "operator"})
    value = None if name in _OF_PROGRAM else _mentioned(message)
    return _assert("operator", message, {"raised": True, "where": "message", "value": value}) if value else None


def _mentioned(message: str) -> str | None:
    """The bad value that a message is about, whatever it is of."""
    if counts := [*_TALLY.finditer(message)]:
        bad = [found["of"].lower() for found in counts if found["count"].strip("0")]
        return None if not bad else "nan" if "nan" in bad or "inf" not in bad else "inf"
    said = _HOLDS.sub("", message)
    found = _BARE.search(said)
    if found is None or _HEDGED.search(said[: found.start()]) or _HEDGED.search(said[found.end() :]):
        return None
    return "inf" if found["inf"] and "nan" not in said.lower() else "nan"


def asserted(line: str) -> dict[str, Any] | None:
    """The same of an assertion that says nothing, by the line that made it: `assert torch.isfinite(loss), …`."""
    return _assert(_code(line), line, {"raised": True}) if _ASSERTS.match(line) else None


def of_batch(made: dict[str, Any], message: str) -> dict[str, Any]:
    """The same, of a check of the batch that the step was given."""
    is_of_it = made["code"] == "operator" and _OF_BATCH.search(message) is not None
    return made | {"code": "batch"} if is_of_it else made


def _assert(code: str, text: str, detail: dict[str, Any]) -> dict[str, Any]:
    step, whose = _STEP.search(text), _RANK.search(text)
    made = {"kind": "nan_assert", "severity": "error", "code": code, "step": int(step[1]) if step else None}
    if whose is not None and (whose["of"] or "").strip().lower() not in _SPACES:
        made |= {"rank": int(whose["rank"]), "rank_space": "global"}
    detail = ({"scope": "global"} if _OF_ALL.search(text) else {}) | detail
    return made | ({"detail": json.dumps(detail)} if detail else {})


def _code(what: str) -> str:
    what = what.lower()
    return "loss" if "loss" in what else "grad_norm" if "grad" in what or "norm" in what else "operator"


def _figure(text: str) -> dict[str, Any] | None:
    match = _VALUE.search(text) if _VALUE_AT_ALL.search(text) else None
    if match is None or _NO_VALUE.search(text[: match.end()]) or _QUOTATION.search(text[: match.end()]):
        return None
    is_evaluation = vocabulary.is_of_evaluation(" ".join(match[0].split()[-_OF_IT:]))
    value = (match["value"] or match["found"] or match["seen"]).lower()
    scope = {"scope": "evaluation"} if is_evaluation else {}
    made = _assert(_code(match["what"] or match["where"] or match["there"]), text, scope)
    if "inf" in value and made["code"] == "grad_norm":
        return made | {"kind": "other", "severity": "warning"}
    return made


def _module(text: str, known: Mapping[str, Any] = {}) -> dict[str, Any] | None:
    if (counted := _COUNTED.search(text)) is not None:
        is_bad = bool(counted["count"].strip("0")) and _NOT_SO.search(text[: counted.start()]) is None
        name = counted["of"] or counted["bare"]
        what = text[: counted.start("count")].rstrip(" =:")[-8:].lower()
        is_bad &= counted["of"] is not None or "nan" in what  # a mask holds infinities
        detail = {**known, "where": "module", "module": name}
        return _assert("module", text, detail) if is_bad and not _FILE.search(name) else None
    match = _IN_MODULE.search(text)
    if match is None or _NOT_SO.search(text[: match.start()]) or _NONE.search(text[match.end() :]):
        return None
    name = match["inside"] or match["of"]
    if _FILE.search(name) or _QUOTATION.search(text[: match.start()]):
        return None
    is_input = _INPUT_BAD.search(text) is not None or "input" in (match["part"] or "").lower()
    given = None if is_input else _INPUT_IS.search(text)
    more = {"input": "bad"} if is_input else {"given": given["given"]} if given else {}
    return _assert("module", text, {**known, "where": "module", "module": name, **more})
