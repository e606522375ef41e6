"""Checks and converts the scores of groups in 2025-09."""

from collections.abc import Sequence
from dataclasses import dataclass

from deemster.domain.problem import Aggregation, Case, Group, StaticCheck, Subtask
from deemster.problems.formats.icpc.cases import Jury
from deemster.problems.formats.icpc.folder import Folder
from deemster.problems.formats.icpc.groups_2025 import GroupYaml
from deemster.problems.formats.icpc.settings import Version
from deemster.problems.formats.yaml_file import key_error

SECRET_SCORE = 100.0


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group as it was read from its files."""

    name: str
    file: str
    yaml: GroupYaml
    cases: tuple[Case, ...] = ()
    groups: "tuple[GroupPlan, ...]" = ()

    @property
    def has_static_check(self) -> bool:
        return self.yaml.static_validation_score is not None

    @property
    def has_tests(self) -> bool:
        own = bool(self.cases) or self.has_static_check
        return own or any(group.has_tests for group in self.groups)


def scored_groups(folder: Folder, plans: Sequence[GroupPlan], jury: Jury) -> Group:
    """The root's score is that of `secret`: samples have no points."""
    items: list[Group] = []
    secret = scored_secret(folder, plans[-1], jury)
    if len(plans) > 1 and (plans[0].cases or plans[0].has_static_check):
        items.append(scored_sample(plans[0]))
    items.append(secret)
    assert isinstance(secret.grading, Subtask)
    whole = Subtask(secret.grading.max_score, Aggregation.SUM, whole_score_only=False)
    return Group("", tuple(items), grading=whole)


def scored_sample(plan: GroupPlan) -> Group:
    if plan.yaml.static_validation_score not in {None, "pass-fail"}:
        raise key_error(plan.file, "static_validation_score", "must be pass-fail for samples.")
    static = (
        StaticCheck(None, plan.yaml.static_validator_args or ())
        if plan.has_static_check
        else None
    )
    return Group(plan.name, plan.cases, grading=Subtask(0.0), static=static)


def scored_secret(folder: Folder, plan: GroupPlan, jury: Jury) -> Group:
    how = Aggregation(plan.yaml.score_aggregation or "sum")
    limit = bounded(plan, SECRET_SCORE)
    check_bounds(plan, how, limit)
    for name in plan.yaml.require_pass:
        if name != "sample":
            raise key_error(plan.file, "require_pass", f"has '{name}': secret may name sample.")
    shares = draft_shares(plan, how, limit, jury)
    groups = [
        scored_group(group, how, limit, shares.get(group.name), plan.groups)
        for group in plan.groups
    ]
    check_sum(folder, plan, how, limit, groups)
    scored = Subtask(limit, how, plan.yaml.require_pass, how is Aggregation.ALL_OR_NOTHING)
    static = static_check(plan, how, limit)
    check_scores_given(plan, limit, jury)
    items: list[Group | Case] = [*plan.cases, *groups]
    return Group(plan.name, tuple(items), grading=scored, static=static)


def scored_group(
    plan: GroupPlan,
    secret_how: Aggregation,
    secret_limit: float | None,
    share: float | None,
    siblings: Sequence[GroupPlan],
) -> Group:
    how = Aggregation(plan.yaml.score_aggregation or "pass-fail")
    if secret_how is Aggregation.ALL_OR_NOTHING and how is not secret_how:
        raise key_error(
            plan.file, "score_aggregation", "must be pass-fail, as that of secret is."
        )
    limit = bounded(plan, share)
    if limit is None and secret_limit is not None:
        raise key_error(
            plan.file,
            "max_score",
            f"is missing or unbounded, and secret's is {secret_limit:g}.",
        )
    check_bounds(plan, how, limit)
    check_requirements(plan, siblings)
    scored = Subtask(limit, how, plan.yaml.require_pass, how is Aggregation.ALL_OR_NOTHING)
    return Group(plan.name, plan.cases, grading=scored, static=static_check(plan, how, limit))


def bounded(plan: GroupPlan, otherwise: float | None) -> float | None:
    """None: unbounded."""
    given = plan.yaml.max_score
    if given is None:
        return otherwise
    return None if given == "unbounded" else float(given)


def check_bounds(plan: GroupPlan, how: Aggregation, limit: float | None) -> None:
    if how is Aggregation.ALL_OR_NOTHING and limit is None:
        raise key_error(
            plan.file, "max_score", "must be a number where score_aggregation is pass-fail."
        )


def check_requirements(plan: GroupPlan, siblings: Sequence[GroupPlan]) -> None:
    known = {each.name: each for each in siblings}
    for name in plan.yaml.require_pass:
        if name == "sample":
            continue
        if name not in known:
            names = ", ".join(("sample", *sorted(known)))
            raise key_error(
                plan.file, "require_pass", f"has '{name}', which is not a group: use {names}."
            )
        if name >= plan.name:
            raise key_error(
                plan.file, "require_pass", f"has '{name}', which doesn't come before it."
            )
        if (known[name].yaml.score_aggregation or "pass-fail") != "pass-fail":
            raise key_error(
                plan.file,
                "require_pass",
                f"has '{name}', whose score_aggregation is not pass-fail.",
            )


def static_check(plan: GroupPlan, how: Aggregation, limit: float | None) -> StaticCheck | None:
    score = plan.yaml.static_validation_score
    key = "static_validation_score"
    if score is None:
        return None
    args = plan.yaml.static_validator_args or ()
    if score == "pass-fail":
        if how is not Aggregation.ALL_OR_NOTHING:
            raise key_error(plan.file, key, "is pass-fail: so must score_aggregation be.")
        return StaticCheck(None, args)
    if how is Aggregation.ALL_OR_NOTHING:
        raise key_error(plan.file, key, "must be pass-fail, as score_aggregation is.")
    if limit is not None and score > limit:
        raise key_error(plan.file, key, f"is {score}, more than the max_score of {limit:g}.")
    return StaticCheck(float(score), args)


def check_sum(
    folder: Folder, plan: GroupPlan, how: Aggregation, limit: float | None, groups: list[Group]
) -> None:
    """The scores of the groups must add up to the maximum."""
    if limit is None or how is not Aggregation.SUM or not groups:
        return
    gradings = [group.grading for group in groups if isinstance(group.grading, Subtask)]
    total = sum(grading.max_score or 0.0 for grading in gradings)
    static = plan.yaml.static_validation_score
    total += static if isinstance(static, int) else 0
    if total > limit + 1e-9:
        raise key_error(
            plan.file, "max_score", f"is {limit:g}, and the groups together have {total:g}."
        )
    if total < limit - 1e-9:
        folder.warn(f"{plan.name}: the groups have {total:g} of the {limit:g} points.")


def check_scores_given(plan: GroupPlan, limit: float | None, jury: Jury) -> None:
    """An unbounded score needs an output validator that gives it."""
    if limit is None and not jury.validators:
        raise key_error(
            plan.file, "max_score", "is unbounded: that needs a program in output_validator/."
        )


def draft_shares(
    plan: GroupPlan, how: Aggregation, limit: float | None, jury: Jury
) -> dict[str, float]:
    """In drafts, groups without a score share the remaining points."""
    if jury.settings.version is not Version.DRAFT or limit is None:
        return {}
    open_groups = [group.name for group in plan.groups if group.yaml.max_score is None]
    if how is not Aggregation.SUM:
        return dict.fromkeys(open_groups, limit)
    taken = sum(
        group.yaml.max_score for group in plan.groups if isinstance(group.yaml.max_score, int)
    )
    if not open_groups or taken > limit:
        return {}
    return dict.fromkeys(open_groups, (limit - taken) / len(open_groups))
