"""What the kernel says of the storage that a rank waits for: the server that does not answer is what is to be looked at, before any
line of the program. It names nobody and raises no status."""

from msgspec.structs import replace

from forensics.assemble.who.identity import short_host
from forensics.case import Case
from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.facts.rows.event_rows import Row, detail, host_of, refs
from forensics.model.commands import file_server
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.words import advice
from forensics.words import verdict as words

_SITES = (*STORAGE_SITES, "data_loading")


def with_file_server(case: Case, finding: Finding) -> Finding:
    """The finding with the file server that the kernel of its host complains of, where its ranks stand in storage."""
    if finding.site not in _SITES or not finding.subjects:
        return finding
    homes = (case.host_of_rank[rank] for rank in finding.subjects if rank in case.host_of_rank)
    own = {short_host(host) for host in (*homes, *finding.places)}
    told: dict[tuple[str, str], list[Row]] = {}
    for row in case.blocked:
        server, host = detail(row).get("server"), host_of(case.identity, row)
        if row["kind"] == "storage_error" and isinstance(server, str) and host:
            told.setdefault((server, host), []).append(row)
    # Where it runs is not known: then the one host that complains is its, if every rank may be there.
    there = {key: rows for key, rows in told.items() if (key[1] in own if own else {key[1]} >= case.job_hosts)}
    if len(there) != 1:
        return finding
    [((server, host), rows)] = there.items()
    look = Action(
        kind="inspect_hardware", target=words.FILE_SERVER(server=server, host=host),
        command=file_server(host, server), reason=words.DOES_NOT_ANSWER, look=advice.LOOK_AT_SERVER, then=advice.THEN_OF_SERVER,
        source="nfs(5), rpcinfo(8)",
    )  # fmt: skip
    text = words.SERVER_IS_SILENT(server=server, host=host)
    return replace(finding, claims=(*finding.claims, Claim(text, "for", refs(rows))), actions=(look, *finding.actions))
