"""Did the gradient become exactly zero while the loss went on? A number format that is too coarse for it, or a graph that is cut, gives all replicas the same."""

from forensics.case import Case, Detector
from forensics.detectors.numerics.loss_advice import roll_back
from forensics.detectors.numerics.loss_lines import line_ref, ref_to
from forensics.facts.figures.vanished_gradients import vanished
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import sentence
from forensics.words import advice


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding; it names nobody."""
    found = vanished(case.tables["steps"])
    if found is None:
        return ()
    step = int(found.row["step"])
    text = advice.GRADIENT_VANISHED(step=step, norm=f"{found.well['grad_norm']:.4g}")
    claims = [Claim(text, "for", (line_ref(found.row), line_ref(found.well)))]
    if found.share is not None:
        row, name, value = found.share
        zero = advice.ALL_ARE_ZERO(name=name, value=f"{value:g}", step=row["step"])
        claims.append(Claim(zero, "for", (ref_to(row, f"{name}={value:g}"),)))
    return (
        Finding(
            cause="underflow",
            domain="workload",
            first_anomaly=FirstAnomaly(step=step, value="zero", signature="underflow"),
            undecided=() if found.share is not None else ("tied_explanations",),
            claims=tuple(claims),
            severity="severe",
            actions=(
                to_do("check_config", advice.FORMAT_AND_SCALE, advice.ZERO_TEACHES_NOTHING),
                roll_back(case, step, advice.ZERO_TEACHES_NOTHING),
            ),
            collect=(advice.SHARE_OF_ZEROS,),
            since_step=step,
            time_ns=found.row["time_ns"],
            summary=sentence(text),
        ),
    )


DETECTOR = Detector("vanished_gradient", ("steps",), detect, "bad_value")
