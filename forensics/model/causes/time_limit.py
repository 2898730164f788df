"""time_limit: the scheduler ended it at its time limit."""

from forensics.model.causes.row import CauseRow
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the scheduler ended it at its time limit", "达到调度器的时间上限"),
    means=Said("The scheduler ended the job at its time limit.", "作业达到时间上限，被调度器结束。"),
    alike="A job that hung until the limit ends in the same way.",
    do=Said("Look at the last step: did the job still make progress?", "查看最后的 step：作业当时是否仍有进展？"),
    chinese=("作业达到时间上限，被调度器结束",),
    example="slurmstepd: error: *** JOB 771 CANCELLED AT 2026-01-31T10:11:12 DUE TO TIME LIMIT ***",
    kinds=("crash",),
    holds="job",
    domain="workload",
    returns="over",
    from_outside=True,
    hits_anybody=True,
    runbook=(
        Step(
            do="collect_more",
            needs=("job",),
            command="accounting",
            gives=("launcher",),
            what=Said("the scheduler's record of the limit", "调度器记录的时限"),
            look=Said(
                "Elapsed beside Timelimit, and the time of the last checkpoint",
                "Elapsed 与 Timelimit，以及最后检查点的时间",
            ),
            then=Said(
                "save before the limit (a signal ahead of it: sbatch --signal), then start again",
                "在到时前保存（sbatch --signal 提前发信号），再重新启动",
            ),
            source="Slurm: sacct(1); sbatch(1), --signal",
        ),
    ),
)
