"""Whose code a frame of a stack is: the job's own, or that of a library, of the interpreter, of the system."""

import re
import sys

# A path that a sampler prints relative to where it found the package tells no more than the package's name. Frameworks whose
# sources jobs take along and change (Megatron, verl, fairseq) are none of these: their lines are the job's.
_PACKAGES = (
    "accelerate", "aiohttp", "apex", "arrow", "boto3", "botocore", "cv2", "datasets", "deepspeed", "diffusers", "dill", "fabric",
    "filelock", "flash_attn", "flax", "fsspec", "gcsfs", "google", "grpc", "h5py", "horovod", "huggingface_hub", "jax", "jaxlib", "joblib",
    "lightning", "mlflow", "mpi4py", "multiprocess", "numba", "numpy", "optax", "orbax", "pandas", "peft", "PIL", "portalocker", "pyarrow",
    "pytorch_lightning", "ray", "requests", "s3fs", "safetensors", "scipy", "sentencepiece", "streaming", "tensorboard", "tensorflow",
    "tensorstore", "tokenizers", "torch", "torchaudio", "torchdata", "torch_musa", "torch_npu", "torchvision", "tqdm", "transformer_engine",
    "transformers", "triton", "trl", "urllib3", "wandb", "webdataset", "xformers", "zarr",
)  # fmt: skip
# Modules of the interpreter whose names scripts of a job have as well.
_ALSO_SCRIPTS = frozenset({"cmd", "code", "profile", "this", "trace", "turtle"})
_MODULES = sorted(sys.stdlib_module_names - _ALSO_SCRIPTS)
# Where packages are installed, frozen modules, shared objects, and what is printed without its folder.
LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python3|/go/src/|/go/pkg/mod/|^<|/lib[\w.+-]{1,80}\.so[\d.]*$"
    r"|/torch/(?:_dynamo|_inductor|autograd|cuda|distributed|multiprocessing|nn|optim|utils)/"
    rf"|^(?:{'|'.join(_PACKAGES)})/|^(?:{'|'.join(_MODULES)})(?:/|\.py$|$)"
)
_PLACE = re.compile(r"\((?P<file>[^()]+)\)$")
_LINE = re.compile(r":\d+$")
_SOURCE = re.compile(r"\.(py|pyx)$")


def is_own(frame: str) -> bool:
    """Is "train (/home/a/loop.py:18)" of the job's own code? Only Python says so: what has no source file is a library's."""
    place = _PLACE.search(frame)
    return place is not None and is_own_file(_LINE.sub("", place["file"]))


def is_own_file(file: str | None) -> bool:
    """Is a source file, as a frame names it, of the job's own code?"""
    return file is not None and _SOURCE.search(file) is not None and LIBRARY.search(file) is None
