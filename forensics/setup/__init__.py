"""Before the incident: which settings leave evidence, what could not be decided without them, and a script that gathers it.

One table, settings.toml, serves the script that is printed (`script`), the text that is checked (`check`), the bundle that is
asked what it lacked (`bundle`), and the kinds of evidence that an action "collect …" leads to.
"""
