"""`nvidia-smi -q -x` (XML), drivers 450 to 580: as the text form, a metric per row.

    <?xml version="1.0" ?>
    <!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
    <nvidia_smi_log>
      <driver_version>550.90.07</driver_version>
      <gpu id="00000000:3B:00.0">
        <uuid>GPU-1f0c…</uuid>
        <ecc_errors><volatile><sram_correctable>0</sram_correctable></volatile></ecc_errors>
      </gpu>
    </nvidia_smi_log>

A metric is the path of elements: `ecc_errors/volatile/sram_correctable`. The document type is never fetched; a file
that declares an entity or an attribute list is refused. A cut file gives what stands before the cut.

Printed by: nvidia-smi -q -x.
Versions: drivers 450 to 580; recovery action and repair state since 580.
Source: nvidia-smi's manual and its document type.
"""

from typing import Any
from xml.parsers import expat

from parsers.forms.reading import opened, real
from parsers.schema.parser import FileParser, Source
from parsers.schema.rules import integer, pci
from parsers.schema.tables import Tables, tables_of

_WORDS = {"yes": 1.0, "no": 0.0, "active": 1.0, "not active": 0.0, "enabled": 1.0, "disabled": 0.0}
_SETTINGS = {
    "mig_mode/current_mig": "mig_mode", "ecc_mode/current_ecc": "ecc_mode", "persistence_mode": "persistence_mode",
    "compute_mode": "compute_mode", "vbios_version": "vbios", "product_name": "gpu_name",
    "gsp_firmware_version": "gsp_firmware",
}  # fmt: skip
_ABSENT = {"n/a", "[n/a]", "", "not supported"}
_BYTES = 64 << 20
_DEPTH = 32
_TEXT = 2000


class _RefusedError(Exception):
    pass


def accepts(_path: str, head: bytes) -> bool:
    """By its root element."""
    return b"<nvidia_smi_log" in head[:8192]


def parse(source: Source) -> Tables:
    """devices, settings, ranks (pid of processes on a GPU); `unread` where the file is cut or refused."""
    reader = _Reader(source)
    reason = reader.run()
    unread = [{"file": source.path, "line": reader.parser.CurrentLineNumber, "reason": reason}] if reason else []
    return tables_of(devices=reader.devices, settings=reader.settings, ranks=reader.ranks, unread=unread)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.devices: list[dict[str, Any]] = []
        self.settings: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.path: list[str] = []
        self.text = ""
        self.line = 0
        self.gpu: dict[str, Any] | None = None
        self.count = 0
        self.first = 0
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        for name in ("EntityDecl", "AttlistDecl", "ExternalEntityRef", "UnparsedEntityDecl"):
            setattr(self.parser, f"{name}Handler", self._refuse)

    def run(self) -> str | None:
        """Why reading stopped, or None."""
        read = 0
        with opened(self.source) as stream:
            try:
                while piece := stream.read(1 << 16):
                    read += len(piece)
                    if read > _BYTES:
                        return f"larger than {_BYTES} bytes"
                    self.parser.Parse(piece, False)
                self.parser.Parse(b"", True)
            except expat.ExpatError as error:
                return f"not well-formed XML: {expat.ErrorString(error.code)}"
            except _RefusedError as error:
                return str(error)
            except (OSError, EOFError) as error:
                return f"cannot be read: {type(error).__name__}"
        return None

    def _refuse(self, *_: Any) -> int:
        raise _RefusedError("declares an entity or attributes, which this report never does")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self.path) > _DEPTH:
            raise _RefusedError("nested too deeply")
        self.path.append(name[:80])
        self.text, self.line = "", self.parser.CurrentLineNumber
        if name == "gpu":
            self.gpu = {"pci": pci(attributes.get("id", "")) or None, "uuid": None, "device_index": self.count}
            self.count += 1
            self.first = len(self.devices)

    def _characters(self, text: str) -> None:
        if len(self.text) < _TEXT:
            self.text += text

    def _end(self, name: str) -> None:
        value, metric = self.text.strip()[:_TEXT], "/".join(self.path[2:])
        self.path.pop()
        self.text = ""
        if name == "gpu" and self.gpu is not None:
            for row in self.devices[self.first :]:
                row |= self.gpu
            self.gpu = None
        elif value.lower() not in _ABSENT:
            self._value(name, metric, value)

    def _value(self, name: str, metric: str, value: str) -> None:
        place = {"file": self.source.path, "line": self.line, "host": self.source.host}
        if self.gpu is None:
            if name in ("driver_version", "cuda_version"):
                scope = {"name": name.removesuffix("_version"), "value": value, "scope": "version"}
                self.settings.append(scope | place)
            return
        if metric.startswith("processes/"):
            if name == "pid" and (pid := integer(value)):
                self.ranks.append({"pid": pid, "how": "nvidia-smi"} | self.gpu | place)
            return
        if metric == "uuid":
            self.gpu["uuid"] = value
        elif metric == "minor_number":
            self.gpu["device_index"] = integer(value)
        if known := _SETTINGS.get(metric):
            self.settings.append({"name": known, "value": value, "scope": f"gpu {self.gpu['pci']}"} | place)
        number = _WORDS.get(value.lower(), real(value))
        self.devices.append(self.gpu | {"metric": metric, "value": number, "text": value} | place)


PARSER = FileParser(name="nvidia_smi_xml", accepts=accepts, parse=parse, whole=True)
