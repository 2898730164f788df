"""How lines and paths tell a step, and what was read in it, and paths a rank."""

from parsers.text.patterns import regex

IN_LINE = regex(
    r"(?i)(?<![a-z])(?:global_|train_)?(?:step|iter(?:ation)?|it|update)[ =:#_-]{1,4}(?P<step>\d{1,15})(?![\w.])"
)
IN_PATH = regex(r"(?i)(?:^|[/._-])(?:global_)?(?:step|iter|iteration|it)[._-]?(?P<step>\d{1,12})(?=$|[/._-])")
RANK_IN_PATH = regex(r"(?i)(?:^|[/._-])(?:rank|r|replica|worker)[._-]?(?P<rank>\d{1,6})(?=$|[/._-])")
GIVEN = regex(r"(?i)(?<![a-z])(?P<what>batch|inputs?|features|samples?)(?![a-z])")  # what a rank read in a step
