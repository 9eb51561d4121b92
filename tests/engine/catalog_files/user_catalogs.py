"""Catalog files as a user writes them, and what is said of one that is wrong."""

import shutil
from pathlib import Path

import pytest

from engine.catalog_files.index import bundled_folder
from engine.catalog_files.reader import load_catalog
from engine.errors import BadInput


def write(folder: Path, text: str, name: str = "ours.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def problem(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as caught:
        load_catalog(write(folder, text))
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{folder}/")


def copied(name: str, folder: Path) -> Path:
    """The price file of a copy of a bundled catalog: unlike the original, it is read every time."""
    for path in bundled_folder().glob(f"{name}.*.yaml"):
        shutil.copy(path, folder)
    (prices,) = folder.glob(f"{name}.*.prices.yaml")
    return prices
