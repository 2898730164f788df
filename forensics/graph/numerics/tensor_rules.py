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
# Operators that sum products of their input and a weight over the last size of the input, and add a bias.
LINEAR = frozenset({"linear", "columnparallellinear", "nn_linear"})
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

# Kind of communication → how its name is spelt, words joined by "_". Those above are names of nothing else.
COMMUNICATIONS: Mapping[str, str] = {
    "all_reduce": "all_?reduce", "reduce_scatter": "reduce_?scatterv?", "all_gather": "all_?gatherv?",
    "all_to_all": "all_?to_?allv?|all2all|a2a", "send": "i?send", "recv": "i?recv",
    "broadcast": "broadcast|bcast", "reduce": "reduce", "gather": "gather", "scatter": "scatter", "barrier": "barrier",
}  # fmt: skip
# Of these, names of local operators too (`scatter_add`, `broadcast_to`): a communication alone, or beside a word of WHERE.
LOCAL_TOO = frozenset({"broadcast", "reduce", "gather", "scatter", "barrier"})
# Megatron's `…_parallel_region` (core/tensor_parallel/mappings.py) are named after what becomes of the tensor.
REGIONS: Mapping[str, str] = {"reduce": "all_reduce", "gather": "all_gather"}
# Words around a name: where it communicates (libraries, axes of the job) …
WHERE = frozenset({
    "nccl", "mccl", "rccl", "hccl", "gloo", "mpi", "dist", "distributed", "c10d", "p2p", "rank", "ranks", "group", "world",
    "stage", "parallel", "tp", "pp", "dp", "ep", "cp", "sp", "mp", "fsdp", "ddp",
})  # fmt: skip
# … and how or what, which changes nothing. Beside any other word, the name stands for more than its communication.
HOW = frozenset({
    "from", "to", "into", "in", "of", "op", "base", "single", "coalesced", "async", "list", "object", "uneven", "inplace",
    "region", "tensor", "tensors", "model", "pipeline", "sequence", "context", "expert", "data", "forward", "backward",
    "fwd", "bwd", "next", "prev", "first", "last", "grad", "grads", "gradient", "gradients", "param", "params", "weight",
    "weights", "loss", "input", "output", "activation", "activations", "hidden", "states", "logits",
})  # fmt: skip
# Kinds whose first of two input slots is the destination (torch: all_gather_into_tensor(output, input)).
DESTINATION_FIRST = frozenset({"all_gather", "reduce_scatter", "all_to_all", "scatter"})
# Kinds whose outputs must be equal bit by bit on all members.
EQUAL_OUTPUTS = frozenset({"all_reduce", "all_gather", "broadcast"})
SUMS = frozenset({"all_reduce", "reduce_scatter", "reduce"})

INPUTS = frozenset({"input", "grad_output", "grad_in"})
OUTPUTS = frozenset({"output", "grad_input", "param_grad", "grad_out"})
STATES = frozenset({"param", "optimizer_state"})
# How programs call the gradient of a parameter: grad_weight, weight.grad, main_grad.
PARAM_GRADS = (
    r"(?i)^(?:(?:main|param|parameter|weight|bias)[._])?(?:grads?|gradient)(?:[._](?:weight|bias|param|parameter))?$"
)
FOUND_INF = r"(?i)(?:^|[._])found_?inf(?:$|[._])"  # a flag: 0 = nothing found; also the sum of flags

# Largest finite value of a number format.
LARGEST: Mapping[str, float] = {
    "float16": 65504.0, "fp16": 65504.0, "half": 65504.0, "f16": 65504.0,
    "bfloat16": 3.3895313892515355e38, "bf16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38, "fp32": 3.4028234663852886e38, "float": 3.4028234663852886e38,
    "e4m3": 448.0, "float8_e4m3fn": 448.0, "e5m2": 57344.0, "float8_e5m2": 57344.0,
}  # fmt: skip
