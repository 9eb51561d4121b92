"""Writes the input files that the sample jobs read: seeded, so that everyone gets the same bytes.

Only the standard library is used; the files stand in for what such jobs read in real life
(hourly web logs, ratings, a web graph, text) and are far smaller.
"""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random

SEED = 20240301
CAMPAIGN_HOURS = (19, 20, 21)
"""Every third day a campaign trebles these hours: the natural skew of the hourly files."""

WORD_LIST = """
garden chair blue oak lamp desk light bottle steel green wool blanket winter tyre road bike
child helmet red shoe running trail tent two person rain jacket coffee grinder hand kettle
copper pan glass bowl bread knife cutting board paper note pen ink brush colour canvas frame
"""
WORDS = WORD_LIST.split()
CATEGORIES = ["garden", "office", "kitchen", "sport", "outdoor", "art", "light", "textile"]
SOURCES = ["direct", "mail", "search", "social", "partner"]
COUNTRIES = ["DE", "FR", "ES", "IT", "PL", "NL", "SE", "PT", "AT", "CZ"]
EVENTS = ("view",) * 14 + ("search",) * 5 + ("cart",) * 3 + ("buy",)
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/121.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) AppleWebKit/605.1 Mobile Safari/604.1",
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 Chrome/121.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:122.0) Gecko/20100101 Firefox/122.0",
)


def clicks(folder: Path, *, hours: int, rows_per_hour: int, users: int) -> None:
    """Hourly click logs, one gzipped JSON file each, and the two tables they are joined with."""
    for part in range(USER_FILES):
        rows = _users(range(part, users, USER_FILES))
        _lines(folder / "users" / f"part-{part}.csv", chain(["user,country,signup_day"], rows))
    _lines(folder / "products.csv", chain(["product,category,title"], _products()))
    for hour in range(hours):
        day, clock = divmod(hour, 24)
        # Traffic follows the day: least at four in the morning, most at four in the afternoon.
        count = rows_per_hour * (1.0 - 0.18 * math.cos(math.pi * (clock - 4) / 12))
        if day % 3 == 2 and clock in CAMPAIGN_HOURS:
            count *= 3
        path = folder / "clicks" / f"2024-03-{day + 1:02d}-{clock:02d}.json.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", compresslevel=1, encoding="ascii") as out:
            out.writelines(_clicks(Random(SEED + hour), day + 1, clock, int(count), users))


def _clicks(rng: Random, day: int, clock: int, rows: int, users: int) -> Iterator[str]:
    seconds = sorted(rng.choices(range(3600), k=rows))
    events = rng.choices(EVENTS, k=rows)
    agents = rng.choices(AGENTS, k=rows)
    sources = rng.choices(SOURCES, k=rows)
    words = rng.choices(WORDS, k=3 * rows)
    for i in range(rows):
        # Squared uniform numbers: few users and products get most of the traffic.
        user = int(users * rng.random() ** 2)
        product = int(PRODUCTS * rng.random() ** 2)
        second = seconds[i]
        yield (
            f'{{"ts":"2024-03-{day:02d}T{clock:02d}:{second // 60:02d}:{second % 60:02d}Z",'
            f'"user":"u{user:07d}","event":"{events[i]}",'
            f'"url":"https://shop.example/p/{product}?utm_source={sources[i]}&pos={i % 40}",'
            f'"query":"{words[3 * i]} {words[3 * i + 1]} {words[3 * i + 2]}",'
            f'"agent":"{agents[i]}","price":{product % 977 / 7:.2f}}}\n'
        )


PRODUCTS = 5_000
USER_FILES = 8


def _users(numbers: range) -> Iterator[str]:
    rng = Random(SEED + numbers.start)
    for user in numbers:
        yield f"u{user:07d},{rng.choice(COUNTRIES)},{rng.randrange(2000)}"


def _products() -> Iterator[str]:
    rng = Random(SEED)
    for product in range(PRODUCTS):
        title = " ".join(rng.choices(WORDS, k=3))
        yield f"{product},{rng.choice(CATEGORIES)},{title}"


def ratings(folder: Path, *, count: int, users: int, films: int) -> None:
    """Ratings of films (user, film, stars) in eight CSV files; tastes have two dimensions."""
    rng = Random(SEED)
    taste = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(users)]
    style = [(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(films)]
    for part in range(8):
        rows = (_rating(rng, taste, style) for _ in range(count // 8))
        _lines(folder / "ratings" / f"part-{part}.csv", rows)


Pairs = list[tuple[float, float]]


def _rating(rng: Random, taste: Pairs, style: Pairs) -> str:
    user = int(len(taste) * rng.random())
    film = int(len(style) * rng.random() ** 2)
    match = taste[user][0] * style[film][0] + taste[user][1] * style[film][1]
    stars = min(5, max(1, round(3 + match + rng.gauss(0, 0.5))))
    return f"{user},{film},{stars}"


def links(folder: Path, *, count: int, pages: int) -> None:
    """A web graph: `from to` per line in eight files, and the names of the pages."""
    rng = Random(SEED)
    for part in range(8):
        # The cube of a uniform number: a few pages get most of the links.
        rows = (
            f"{int(pages * rng.random())} {int(pages * rng.random() ** 3)}"
            for _ in range(count // 8)
        )
        _lines(folder / "links" / f"part-{part}.txt", rows)
    _lines(folder / "pages.txt", (f"{page} page-{page}.example" for page in range(pages)))


def text(folder: Path, *, files: int) -> None:
    """Text files of about 8 MB; words are as unequally frequent as in a language."""
    rng = Random(SEED)
    letters = "etaoinshrdlu"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 11))) for _ in range(30_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    drawn = iter(rng.choices(words, weights, k=16 * 100_000))
    stock = [" ".join(islice(drawn, 16)) for _ in range(100_000)]
    for part in range(files):
        _lines(folder / f"part-{part:03d}.txt", rng.choices(stock, k=75_000))


def records(folder: Path, *, files: int) -> None:
    """Records of 100 bytes in files of 8 MB: ten characters of key, the rest filler."""
    rng = Random(SEED)
    filler = "0123456789abcdefghijklmnopqrstuvwxyz" * 3
    for part in range(files):
        rows = (f"{rng.getrandbits(40):010x}{filler[:89]}" for _ in range(80_000))
        _lines(folder / f"part-{part:03d}.txt", rows)


def orders(folder: Path, *, files: int, rows: int) -> None:
    """Files of orders as they arrive every few seconds, more of them at some times than others."""
    for part in range(files):
        rng = Random(SEED + part)
        count = int(rows * (1 + 0.5 * math.sin(part / 5) + rng.random() * 0.4))
        path = folder / "orders" / f"{part:04d}.json"
        _lines(path, (_order(rng, part) for _ in range(count)))
        # The stream takes files by their time, the first first.
        os.utime(path, (1_700_000_000 + part, 1_700_000_000 + part))


def _order(rng: Random, part: int) -> str:
    minute, second = divmod(part * 5 + rng.randrange(5), 60)
    note = " ".join(rng.choices(WORDS, k=6))
    return (
        f'{{"ts":"2024-03-01T{10 + minute // 60:02d}:{minute % 60:02d}:{second:02d}Z",'
        f'"customer":"c{int(5000 * rng.random() ** 2)}","product":{rng.randrange(5000)},'
        f'"price":{rng.randrange(100, 9999) / 100},"note":"{note}"}}'
    )


def _lines(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii") as out:
        out.writelines(row + "\n" for row in rows)
