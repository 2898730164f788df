"""Everything that the page draws, from a case and the finding that became the verdict. Reports only lay it out."""

from forensics.case import Case
from forensics.model.drawn import Views
from forensics.model.finding import Finding
from forensics.views.collectives import collectives
from forensics.views.graph import graph
from forensics.views.grid import grid
from forensics.views.hardware import hardware
from forensics.views.links import links
from forensics.views.locations import locations
from forensics.views.mesh import mesh
from forensics.views.numbers import numbers
from forensics.views.one_step import one_step
from forensics.views.stacks import stacks
from forensics.views.timeline import timeline
from forensics.views.tracks import tracks
from forensics.views.votes import votes


def views(case: Case, finding: Finding) -> Views:
    """Case and the chosen finding → everything that the page draws."""
    cells, hosts = grid(case, finding)
    nodes, edges, notes = graph(case, finding)
    first_bad, series, left_out = numbers(case, finding)
    return Views(
        timeline=timeline(case, finding),
        grid=cells,
        hosts=hosts,
        mesh=mesh(case),
        tracks=tracks(case, finding),
        votes=votes(case, finding),
        one_step=one_step(case, finding),
        nodes=nodes,
        edges=edges,
        stacks=stacks(case),
        collectives=collectives(case),
        tensors=list(finding.tensors),
        first_bad=first_bad,
        series=series,
        hardware=hardware(case, finding),
        links=links(case),
        locations=locations(case, finding),
        notes=[*notes, *left_out],
    )
