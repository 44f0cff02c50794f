"""A container's own restart rules: the exit code may decide before any policy does (KEP-5307, KEP-5532)."""

from podherd.model.pod import Container

RESTART = "Restart"
RESTART_ALL = "RestartAllContainers"


def rule_action(container: Container, exit_code: int) -> str:
    """The action of the first rule that speaks of this exit code; empty when none does."""
    for rule in container.body.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        listed = exit_code in (codes.get("values") or ())
        operator = codes.get("operator")
        if (operator == "In" and listed) or (operator == "NotIn" and not listed):
            return str(rule.get("action", ""))
    return ""
