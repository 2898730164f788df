"""Stores that are no file system of any host, by the scheme of a path that lies on them: how one is asked."""

import re
from collections.abc import Mapping

from parsers.text.patterns import regex

_URL = regex(r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?P<name>[a-zA-Z0-9][\w.:-]{0,200})(?:/[\w@.+=-]+)*/?", re.ASCII)
_LOOKS: Mapping[str, str] = {
    "hdfs": "timeout 60 hdfs dfs -df -h {url}; timeout 60 hdfs dfsadmin -fs hdfs://{name} -report",
    "viewfs": "timeout 60 hdfs dfs -df -h {url}",
    "s3": "timeout 60 aws s3 ls {url}",
    "gs": "timeout 60 gcloud storage ls {url}",
}


def look(url: str) -> str | None:
    """The command of the tool that the scheme belongs to; none where that is not known, or a shell would read more in it."""
    found = _URL.fullmatch(url)
    told = _LOOKS.get(found["scheme"]) if found is not None else None
    return None if found is None or told is None else f"sh -c '{told.format(url=url, name=found['name'])}'"
