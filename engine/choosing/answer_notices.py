"""What is to be said of an answer beside what its model says: no interval, prices that are old."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engine.catalog import Billing, Catalog, Price
from engine.choosing.recommendation import Choice, Goal
from engine.notices import Notice, in_order

OLD_PRICE_DAYS = 180

NO_INTERVAL = Notice(
    "no-interval",
    "the model gives no interval: the predicted time alone decides whether the deadline is met",
    "add more runs",
)


def with_interval_notice(
    notices: Sequence[Notice], goal: Goal, shown: Choice | None
) -> tuple[Notice, ...]:
    """The warnings of an answer, with `NO_INTERVAL` where that is true of the choice it shows."""
    unsure = goal.deadline_seconds is not None and shown is not None and shown.low is None
    others = [notice for notice in notices if notice.code != NO_INTERVAL.code]
    return in_order([*others, NO_INTERVAL] if unsure else others)


def price_notices(
    price: Price, name: str, catalog: Catalog, today: date | None, *, kind: str = "price"
) -> tuple[Notice, ...]:
    """Warnings about a price: estimated, old or dated in the future (not for a catalog that is old
    on purpose).

    Args:
        kind: "spot price" for one of these: that on demand of the same type has a date of its own.
    """
    notices = []
    what = f"the {kind} of {name}"
    if price.estimated:
        text = f"{what} is an estimate of {price.date}: {price.source}"
        notices.append(Notice("estimated-price", text, "check the current price"))
    dated = _dated(what, price.date, catalog, today)
    return (*notices, dated) if dated else tuple(notices)


def dbu_notices(billing: Billing, catalog: Catalog, today: date | None) -> tuple[Notice, ...]:
    """The warning about the date of the price of a DBU."""
    if billing.dbu_date is None:
        return ()
    dated = _dated("the price of a DBU", billing.dbu_date, catalog, today)
    return (dated,) if dated else ()


def _dated(what: str, since: date, catalog: Catalog, today: date | None) -> Notice | None:
    """That a price is old, or dated in the future; tomorrow is today somewhere."""
    age_days = 0 if today is None or catalog.historic else (today - since).days
    if age_days < -1:
        text = f"{what} is dated {since}, in the future (today is {today})"
        return Notice("future-price", text, "correct its date, or the clock of this machine")
    if age_days <= OLD_PRICE_DAYS:
        return None
    text = f"{what} is {age_days} days old ({since})"
    return Notice("old-price", text, "check the current price")
