"""How large each axis of the parallel layout is, as a line or a label tells it in words: dp=4, data-parallel size: 4, pure data parallel."""

from math import prod

from parsers.text.patterns import regex

_SIZE = r"(?:[ _-]?(?:model[ _-])?(?:parallel(?:ism)?)?[ _-]?(?:(?:with|of) )?(?:size|degree|ranks|world)?)[ =:\"']{{0,3}}x?[ ]?"
_AXES = {
    "data_parallel_size": r"(?:\bdata|\bdp|\(dp|=dp)",
    "tensor_model_parallel_size": r"(?:\btensor|\btp|\bmodel|\bmp)",
    "pipeline_model_parallel_size": r"(?:\bpipeline|\bpp)",
}
_TOLD = {
    name: regex(rf"(?i){word}{_SIZE.format()}(\d{{1,6}})\b(?![./:-]?\d| ?/)(?! ?(?:MB|GB|ms|s)\b)")
    for name, word in _AXES.items()
}
_ALONE = regex(
    r"(?i)\b(?:pure(?:ly)?|only|plain) data[ -]parallel|\bdata[ -]parallel(?:ism)? only\b|\bno (?:tensor/pipeline|model) parallel"
    r"|\bstrategy[\"']?[ =:]{1,3}[\"']?ddp(?:_find_unused_parameters_(?:true|false)|_spawn|_fork|_notebook)?\b"
)


_OTHER_AXES = regex(r"(?i)(?:\bcontext|\bcp|\bsequence|\bsp)[\w -]{0,24}[ =:]{1,3}(?!1\b)\d")
_SHARDED = regex(r"(?i)\bsharded (?:over|across) (?:all )?(\d{1,6}) (?:ranks|processes|workers|devices|gpus|npus)\b")
# Mates of a tensor-parallel group and stages of a pipeline hold other parameters: gradients are averaged among replicas only.
_AVERAGED = regex(
    r"(?i)\bgrad(?:ient)?s? (?:(?:are|is|were|was|get|being|to be) )?(?:averaged|mean-?reduced|all-?reduced|synchroni[sz]ed|synced) "
    r"(?:over|across|among|between) (?:(?:the|all|its|our) ){0,2}(?P<replicas>\d{1,6}) (?:ranks|processes|workers|devices|gpus|npus|replicas)\b"
)


EXPERTS = "expert_model_parallel_size"
_EXPERTS = regex(
    r"(?i)\b(?:expert|ep)[ _-]?(?:model[ _-])?(?:parallel(?:ism)?[ _-])?(?:world[ _-]?)?(?:size|degree)[ =:\"']{1,3}(\d{1,6})\b"
    r"|\b(\d{1,6})[ -]way expert[ -]parallel|\bexpert[ -]parallel(?:ism)? (?:over|across|among|on) (?:all )?(\d{1,6}) (?:ranks|processes|workers|devices|gpus|npus)\b"
)
OF_EXPERTS = "experts"
_MANY = regex(
    r"(?i)(?<![a-z])(?:num|n|number of)[ _-](?:[a-z]{2,8}[ _-])?experts[\"']?[ =:\"']{1,3}(\d{1,6})\b|\b(\d{1,6}) (?:[a-z]{2,8} )?experts\b|\bmixture[ _-]of[ _-](experts)\b"
)
DIVIDED = "divided"
_LARGER = r"(?:[2-9]|[1-9]\d{1,5})"
_AXIS = r"(?:tensor|pipeline|context|sequence|ulysses|ring|tp|pp|cp|sp)"
_DIVIDED = regex(
    rf"(?i)(?<![a-z]){_AXIS}(?:[ _-]?(?:model|parallel(?:ism)?|attention|world|size|degree)){{1,3}}[\"']?[ =:\"']{{1,3}}{_LARGER}(?![\w.])"
    rf"|(?<![a-z])(?:tp|pp|cp)[=:]{_LARGER}(?![\w.])(?!.*\bf[pn][=:])"  # and no true positives
    rf"|\b{_LARGER}[ -]way {_AXIS}\b|(?<![a-z])(?:tensor|context|sequence|pipeline|ring)[ -](?:parallel(?:ism)?|attention) (?:over|across|among|on) "
    rf"|\b{_LARGER} pipeline stages\b|\bpipeline[ _-](?:parallel[ _-])?stages[\"']?[ =:]{{1,3}}{_LARGER}\b|\bPipelineModule\b|\bPipelineStage\b"
)


def experts(text: str) -> dict[str, str]:
    """Name of the argument → over how many ranks the experts are spread, and how many there are, where a line says so."""
    found, many = _EXPERTS.search(text), _MANY.search(text)
    told = {} if found is None else {EXPERTS: found[1] or found[2] or found[3]}
    return told if many is None else told | {OF_EXPERTS: many[1] or many[2] or many[3]}


def divided(text: str) -> dict[str, str]:
    """That ranks share the work on one sample, where a line says so of any axis: by its size, or by its place there, which may be the same."""
    return {DIVIDED: "yes"} if _DIVIDED.search(text) else {}


def world(text: str) -> int | None:
    """How many processes a line tells that names every axis, or over how many all is sharded; None where it does neither."""
    if (sharded := _SHARDED.search(text)) is not None:
        return int(sharded[1])
    found = sizes(text)
    return prod(map(int, found.values())) if len(found) == len(_AXES) and not _OTHER_AXES.search(text) else None


def sizes(text: str) -> dict[str, str]:
    """Name of the argument → size; of no axis where that of the replicas is not told, or where one of them is 0: then they are a place."""
    found = {name: one[1] for name, said in _TOLD.items() if (one := said.search(text))}
    if not found and (averaged := _AVERAGED.search(text)) is not None:
        found = {"data_parallel_size": averaged["replicas"]}
    if "0" in found.values() or "data_parallel_size" not in found:
        found = {}
    if _ALONE.search(text):
        found = {"tensor_model_parallel_size": "1", "pipeline_model_parallel_size": "1"} | found
    return found
