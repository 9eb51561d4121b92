"""Notices about an answer beside those of its model: no interval, old or estimated prices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engine.catalog import Billing, Catalog, Price
from engine.choosing.recommendation import Choice, Goal
from engine.cost import OLD_PRICE_DAYS
from engine.models.base import no_interval_remedy
from engine.notices import Notice, in_order, present

NO_INTERVAL = "no-interval"


def time_alone_notice(model: str) -> Notice:
    """The warning that a deadline is judged by a time without an interval."""
    return Notice(
        NO_INTERVAL,
        "the model gives no interval: the predicted time alone decides whether the deadline is met",
        no_interval_remedy(model),
    )


def with_interval_notice(
    notices: Sequence[Notice], goal: Goal, shown: Choice | None, model: str
) -> tuple[Notice, ...]:
    """The warnings of an answer, with that of `time_alone_notice` if a deadline is set and its
    choice has no interval."""
    lacks_interval = goal.deadline_seconds is not None and shown is not None and shown.low is None
    others = [notice for notice in notices if notice.code != NO_INTERVAL]
    return in_order([*others, time_alone_notice(model)] if lacks_interval else others)


def price_notices(
    price: Price, name: str, catalog: Catalog, today: date | None, *, kind: str = "price"
) -> tuple[Notice, ...]:
    """Warnings about a price: estimated, old or dated in the future (not for a catalog that is old
    on purpose).

    Args:
        kind: "price", or "spot price": the two prices of a type have different dates.
    """
    estimate, subject = None, f"the {kind} of {name}"
    if price.estimated:
        text = f"{subject} is an estimate of {price.date}: {price.source}"
        estimate = Notice("estimated-price", text, "check the current price")
    return present((estimate, _date_notice(subject, price.date, catalog, today)))


def rate_notices(billing: Billing, catalog: Catalog, today: date | None) -> tuple[Notice, ...]:
    """Warnings about the dates of the price of a DBU and of the exchange rate."""
    dates = {"the price of a DBU": billing.dbu_date}
    if (exchange := catalog.exchange) is not None:
        dates[f"the exchange rate of {exchange.currency}"] = exchange.date
    return present(_date_notice(name, day, catalog, today) for name, day in dates.items() if day)


def _date_notice(
    subject: str, price_date: date, catalog: Catalog, today: date | None
) -> Notice | None:
    """The notice about a price that is old, or dated in the future; one day ahead may be a time
    zone."""
    age_days = 0 if today is None or catalog.historic else (today - price_date).days
    if age_days < -1:
        text = f"{subject} is dated {price_date}, in the future (today is {today})"
        return Notice("future-price", text, "correct its date, or the clock of this machine")
    if age_days <= OLD_PRICE_DAYS:
        return None
    text = f"{subject} is {age_days} days old ({price_date})"
    return Notice("old-price", text, "check the current price")
