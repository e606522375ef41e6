"""The scores of groups in 2025-09, with all that must fit together."""

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
    """A group as its files have it."""

    name: str
    file: str
    said: GroupYaml
    cases: tuple[Case, ...] = ()
    groups: "tuple[GroupPlan, ...]" = ()

    @property
    def said_static(self) -> bool:
        return self.said.static_validation_score is not None

    @property
    def tests_something(self) -> bool:
        own = bool(self.cases) or self.said_static
        return own or any(group.tests_something for group in self.groups)


def scored_groups(folder: Folder, plans: Sequence[GroupPlan], jury: Jury) -> Group:
    """The root's score is that of `secret`: samples are worth nothing."""
    items: list[Group] = []
    secret = scored_secret(folder, plans[-1], jury)
    if len(plans) > 1 and (plans[0].cases or plans[0].said_static):
        items.append(scored_sample(plans[0]))
    items.append(secret)
    assert isinstance(secret.grading, Subtask)
    whole = Subtask(secret.grading.max_score, Aggregation.SUM, whole_score_only=False)
    return Group("", tuple(items), grading=whole)


def scored_sample(plan: GroupPlan) -> Group:
    if plan.said.static_validation_score not in {None, "pass-fail"}:
        raise key_error(plan.file, "static_validation_score", "must be pass-fail for samples.")
    static = (
        StaticCheck(None, plan.said.static_validator_args or ()) if plan.said_static else None
    )
    return Group(plan.name, plan.cases, grading=Subtask(0.0), static=static)


def scored_secret(folder: Folder, plan: GroupPlan, jury: Jury) -> Group:
    how = Aggregation(plan.said.score_aggregation or "sum")
    most = bounded(plan, SECRET_SCORE)
    check_bounds(plan, how, most)
    for name in plan.said.require_pass:
        if name != "sample":
            raise key_error(plan.file, "require_pass", f"has '{name}': secret may name sample.")
    shares = draft_shares(plan, how, most, jury)
    groups = [
        scored_group(group, how, most, shares.get(group.name), plan.groups)
        for group in plan.groups
    ]
    check_sum(folder, plan, how, most, groups)
    scored = Subtask(most, how, plan.said.require_pass, how is Aggregation.ALL_OR_NOTHING)
    static = static_check(plan, how, most)
    check_scores_given(plan, most, jury)
    items: list[Group | Case] = [*plan.cases, *groups]
    return Group(plan.name, tuple(items), grading=scored, static=static)


def scored_group(
    plan: GroupPlan,
    secret_how: Aggregation,
    secret_most: float | None,
    share: float | None,
    siblings: Sequence[GroupPlan],
) -> Group:
    how = Aggregation(plan.said.score_aggregation or "pass-fail")
    if secret_how is Aggregation.ALL_OR_NOTHING and how is not secret_how:
        raise key_error(
            plan.file, "score_aggregation", "must be pass-fail, as that of secret is."
        )
    most = bounded(plan, share)
    if most is None and secret_most is not None:
        raise key_error(
            plan.file, "max_score", f"is missing or unbounded, and secret's is {secret_most:g}."
        )
    check_bounds(plan, how, most)
    check_requirements(plan, siblings)
    scored = Subtask(most, how, plan.said.require_pass, how is Aggregation.ALL_OR_NOTHING)
    return Group(plan.name, plan.cases, grading=scored, static=static_check(plan, how, most))


def bounded(plan: GroupPlan, otherwise: float | None) -> float | None:
    """None: unbounded."""
    given = plan.said.max_score
    if given is None:
        return otherwise
    return None if given == "unbounded" else float(given)


def check_bounds(plan: GroupPlan, how: Aggregation, most: float | None) -> None:
    if how is Aggregation.ALL_OR_NOTHING and most is None:
        raise key_error(
            plan.file, "max_score", "must be a number where score_aggregation is pass-fail."
        )


def check_requirements(plan: GroupPlan, siblings: Sequence[GroupPlan]) -> None:
    known = {each.name: each for each in siblings}
    for name in plan.said.require_pass:
        if name == "sample":
            continue
        if name not in known:
            names = ", ".join(("sample", *sorted(known)))
            raise key_error(
                plan.file, "require_pass", f"has '{name}', which is no group: use {names}."
            )
        if name >= plan.name:
            raise key_error(
                plan.file, "require_pass", f"has '{name}', which doesn't come before it."
            )
        if (known[name].said.score_aggregation or "pass-fail") != "pass-fail":
            raise key_error(
                plan.file, "require_pass", f"has '{name}', which is not passed or failed."
            )


def static_check(plan: GroupPlan, how: Aggregation, most: float | None) -> StaticCheck | None:
    score = plan.said.static_validation_score
    key = "static_validation_score"
    if score is None:
        return None
    args = plan.said.static_validator_args or ()
    if score == "pass-fail":
        if how is not Aggregation.ALL_OR_NOTHING:
            raise key_error(plan.file, key, "is pass-fail: so must score_aggregation be.")
        return StaticCheck(None, args)
    if how is Aggregation.ALL_OR_NOTHING:
        raise key_error(plan.file, key, "must be pass-fail, as score_aggregation is.")
    if most is not None and score > most:
        raise key_error(plan.file, key, f"is {score}, more than the max_score of {most:g}.")
    return StaticCheck(float(score), args)


def check_sum(
    folder: Folder, plan: GroupPlan, how: Aggregation, most: float | None, groups: list[Group]
) -> None:
    """A full score can be had, and not more than that."""
    if most is None or how is not Aggregation.SUM or not groups:
        return
    gradings = [group.grading for group in groups if isinstance(group.grading, Subtask)]
    total = sum(grading.max_score or 0.0 for grading in gradings)
    static = plan.said.static_validation_score
    total += static if isinstance(static, int) else 0
    if total > most + 1e-9:
        raise key_error(
            plan.file, "max_score", f"is {most:g}, and the groups together have {total:g}."
        )
    if total < most - 1e-9:
        folder.warn(f"{plan.name}: the groups have {total:g} of the {most:g} points.")


def check_scores_given(plan: GroupPlan, most: float | None, jury: Jury) -> None:
    """Where points have no bound, a validator of the package must give them."""
    if most is None and not jury.validators:
        raise key_error(
            plan.file, "max_score", "is unbounded: that needs a program in output_validator/."
        )


def draft_shares(
    plan: GroupPlan, how: Aggregation, most: float | None, jury: Jury
) -> dict[str, float]:
    """In drafts, groups without a score share what others leave."""
    if jury.settings.version is not Version.DRAFT or most is None:
        return {}
    open_groups = [group.name for group in plan.groups if group.said.max_score is None]
    if how is not Aggregation.SUM:
        return dict.fromkeys(open_groups, most)
    taken = sum(
        group.said.max_score for group in plan.groups if isinstance(group.said.max_score, int)
    )
    if not open_groups or taken > most:
        return {}
    return dict.fromkeys(open_groups, (most - taken) / len(open_groups))
