"""What the names in tensor statistics mean: operators, tensors and number formats. Data, no logic.

Names are compared in lower case, without a package prefix and without a trailing underscore (`Tensor.masked_fill_`).
"""

from collections.abc import Mapping

# Operators whose -Inf outputs are wanted: they build attention masks.
MASK_BUILDERS = frozenset({
    "masked_fill", "where", "full", "full_like", "new_full", "fill", "triu", "tril", "attn_mask", "attention_mask",
    "causal_mask", "mask", "alibi", "maskedfill", "build_mask", "masked_fill_scalar",
})  # fmt: skip
# Operators that turn -Inf into weight zero.
MASK_CONSUMERS = frozenset({
    "softmax", "log_softmax", "_softmax", "fusedscalemasksoftmax", "scaledmaskedsoftmax",
    "scaled_dot_product_attention",
    "sdpa", "attention", "coreattention", "dotproductattention", "flashattention", "flash_attn", "flash_attn_func",
    "multiheadattention", "selfattention", "flexattention", "flex_attention", "softmax_forward", "logsoftmax",
})  # fmt: skip
# Operators that leave the smaller values out, -Inf first.
MAXIMA = frozenset({
    "maximum", "max", "amax", "fmax", "clamp", "clamp_min", "clip", "relu", "topk", "logsumexp", "logaddexp",
    "max_pool1d", "max_pool2d", "max_pool3d", "maxpool1d", "maxpool2d", "maxpool3d",
})  # fmt: skip
# Operators that return a part of what they get: a clean part says nothing of the rest.
SELECTORS = frozenset({
    "getitem", "__getitem", "slice", "select", "index", "index_select", "narrow", "split", "chunk", "unbind", "gather",
    "take", "masked_select", "tensor_split", "split_with_sizes",
})  # fmt: skip
# Operators whose output is memory that nobody has written yet.
UNINITIALISED = frozenset({
    "empty", "empty_like", "empty_strided", "new_empty", "empty_permuted", "resize", "empty_quantized",
})  # fmt: skip

# Printed name → kind of communication.
COMMUNICATIONS: Mapping[str, str] = {
    "all_reduce": "all_reduce", "allreduce": "all_reduce", "all_reduce_coalesced": "all_reduce",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter",
    "reduce_scatter_base": "reduce_scatter", "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter", "reducescatter": "reduce_scatter",
    "all_gather": "all_gather", "all_gather_into_tensor": "all_gather", "_all_gather_base": "all_gather",
    "all_gather_base": "all_gather", "all_gather_into_tensor_coalesced": "all_gather",
    "all_gather_coalesced": "all_gather", "allgather": "all_gather",
    "all_to_all": "all_to_all", "all_to_all_single": "all_to_all", "alltoall": "all_to_all",
    "alltoall_base": "all_to_all", "a2a": "all_to_all",
    "broadcast": "broadcast", "scatter": "scatter", "reduce": "reduce", "gather": "gather",
    "send": "send", "isend": "send", "recv": "recv", "irecv": "recv", "barrier": "barrier",
}  # fmt: skip
# Kinds whose first of two input slots is the destination (torch: all_gather_into_tensor(output, input)).
DESTINATION_FIRST = frozenset({"all_gather", "reduce_scatter", "all_to_all", "scatter"})
# Kinds whose outputs must be equal bit by bit on all members.
EQUAL_OUTPUTS = frozenset({"all_reduce", "all_gather", "broadcast"})
SUMS = frozenset({"all_reduce", "reduce_scatter", "reduce"})

INPUTS = frozenset({"input", "grad_output", "grad_in"})
OUTPUTS = frozenset({"output", "grad_input", "param_grad", "grad_out"})
STATES = frozenset({"param", "optimizer_state"})
FOUND_INF = r"(?i)(?:^|[._])found_?inf(?:$|[._])"  # a flag: 0 = nothing found; also the sum of flags

# Largest finite value of a number format.
LARGEST: Mapping[str, float] = {
    "float16": 65504.0, "fp16": 65504.0, "half": 65504.0, "f16": 65504.0,
    "bfloat16": 3.3895313892515355e38, "bf16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38, "fp32": 3.4028234663852886e38, "float": 3.4028234663852886e38,
    "e4m3": 448.0, "float8_e4m3fn": 448.0, "e5m2": 57344.0, "float8_e5m2": 57344.0,
}  # fmt: skip
PHASES = ("forward", "recompute", "backward", "comm", "grad_sync", "optimizer")
