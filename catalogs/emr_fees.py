"""EMR's fee by type, where it is not a quarter of the on-demand price; used by catalogs/build.py.

EMR publishes a fee for every type on its price page. Of the fees that public quotes of that page
tell, those of m5.xlarge, m5d.xlarge to m5d.4xlarge, m6gd.4xlarge and r6gd.4xlarge are a quarter of
the on-demand price, and none is above 0.27 USD, which nine types have: c4.8xlarge, c5.18xlarge,
i3.4xlarge, m5.12xlarge, m5d.8xlarge to m5d.24xlarge and r5d.4xlarge. Series launched since 2020
have no such ceiling: AWS's benchmark of i4i on EMR 6.8 (2022) states savings over i3 of 22.56 to
33.1 % with EMR's fee included. From its run times these follow exactly with the ceiling for i3 and
a quarter for i4i, so that the fee of an i4i.8xlarge is 0.69 USD; with a ceiling for both the least
saving would be 30.09 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = Mapping[str, str]

SHARE, CEILING_USD = 0.25, 0.27
CEILING_DATE = "2025-09-24"
CEILING_SOURCE = (
    "ceiling of EMR's fee as seen of 9 types of 6 series; taken for all series launched before 2020"
)
CEILING_SERIES = frozenset((
    "c3", "c4", "c5", "c5d", "c5n", "d2", "h1", "i2", "i3", "i3en", "m4", "m5", "m5a", "m5ad",
    "m5d", "m5dn", "m5n", "r3", "r4", "r5", "r5a", "r5ad", "r5d", "r5dn", "r5n", "x1", "x1e", "z1d",
))  # fmt: skip

_PAGE = "EMR's price page as quoted in public on that day"
PUBLISHED = {
    "c4.large": ("0.026", "2017-12-05", _PAGE),
    "m4.large": ("0.03", "2017-12-05", _PAGE),
    "m3.xlarge": ("0.07", "2019-08-22", _PAGE),
    "m5.xlarge": ("0.048", "2019-08-22", _PAGE),
    "m5.12xlarge": ("0.27", "2021-03-25", _PAGE),
    "i3.4xlarge": ("0.27", "2022-02-19", _PAGE),
    "r5d.4xlarge": ("0.27", "2025-09-24", "AWS Big Data Blog"),
}
"""Type -> USD per hour, date and source."""

_QUOTED = "quoted in public without a date; in proportion to that of"
_IN_PROPORTION = "in proportion to that of c4.large; so it is for m3 and m4"
INFERRED = {
    "m3.2xlarge": ("0.14", "2019-08-22", f"{_QUOTED} m3.xlarge"),
    "m4.xlarge": ("0.06", "2017-12-05", f"{_QUOTED} m4.large"),
    "m4.2xlarge": ("0.12", "2017-12-05", f"{_QUOTED} m4.large"),
    "m4.4xlarge": ("0.24", "2017-12-05", f"{_QUOTED} m4.large"),
    "c4.xlarge": ("0.052", "2017-12-05", _IN_PROPORTION),
    "c4.2xlarge": ("0.104", "2017-12-05", _IN_PROPORTION),
    "c4.4xlarge": ("0.208", "2017-12-05", _IN_PROPORTION),
}

COLUMNS = ("name", "usd_per_hour", "date", "source", "estimated")


def fee_rows(facts: Iterable[Row]) -> Iterator[Sequence[str]]:
    """The rows of `surcharges`: the types that do not pay the share."""
    for row in facts:
        name = row["instance_type"]
        above = SHARE * float(row["price_hourly_usd"]) > CEILING_USD
        if name in PUBLISHED:
            yield name, *PUBLISHED[name], "false"
        elif name in INFERRED:
            yield name, *INFERRED[name], "true"
        elif above and name.partition(".")[0] in CEILING_SERIES:
            yield name, str(CEILING_USD), CEILING_DATE, CEILING_SOURCE, "true"
