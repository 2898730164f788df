"""Which lines may be of a traceback, or tell whose it is: what comes to its parser (traceback.py)."""

from parsers.text.patterns import regex

# What can be a line of a traceback: any line of a collector's JSON, a frame, its source or carets, an empty line, `Class: message`, `Class` alone after
# what launchers put before it.
FOLLOWS = regex(
    rb'\A(?:[^\t\n]{1,80}\t[\w.-]+\t)?\{|File "|(?: {3}|\t)\S|\A(?:[\w.-]{1,255}:)?\s*\Z|[A-Za-z_\x80-\xff][\w.\x80-\xff]*:(?:\s|\Z)|Previous line repeated|what\(\):|above exception'
    rb"|(?:\A|[\]>):|F]|:\d\d(?:[.,]\d{1,9})?Z?)[ \t]*[A-Za-z_\x80-\xff][\w.\x80-\xff]*\s*\Z"
    rb"|(?:\A|[\]>):|])[ \t]*[A-Z][a-z]{1,30} [a-z]{2,30} "  # a sentence
    rb"| : [A-Z]"  # and what TensorFlow says of a tensor
    rb"|\A[a-z0-9][a-z0-9.-]*-[a-z0-9-]+ [a-z][a-z0-9-]* (?:[A-Za-z_][\w.]*)?\s*\Z"
    rb"|\A.{0,100}\b[DIWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} "
    rb"|\A.{0,100}\b\d{1,2}:\d\d:\d\d\b"
    rb"|\A.{0,100}\b(?:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
    rb"|\A[^\d\n]{1,100}[ #:=_-]\d{1,9}\b[^\d\n]{0,60}\Z"  # a heading, of whose the next one is
)
ANCHORS = (
    b"Traceback (most recent call last)",
    "❱ ".encode(), "│ /".encode(),  # rich's mark of the line, once in each frame, and a frame of it
    b'"exc_type"',  # structlog
    b'File "', b'File \\"',  # in JSON
    b"Error: ", b"Exception: ", b"(see above for traceback): ", b"terminate called after throwing", b"Exception in thread",
    b"Exception ignored in", b"above exception", b"-- Process ", b" Error Snippet]", b"world_rank=", b"RayTaskError(", b"RemoteTraceback", b"ray::",
    b"DataLoader worker (pid", b" encountered in worker", b"copying a param with shape", b" in state_dict: ",
    # Alone after `[rank3]`: nothing but the class.
    b"]: AssertionError", b"]: RuntimeError", b"]: ValueError", b"]: MemoryError", b"]: NotImplementedError", b"]: KeyboardInterrupt",
)  # fmt: skip
