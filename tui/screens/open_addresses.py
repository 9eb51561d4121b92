"""Addresses in the open dialog: history servers, and folders of object stores."""

from __future__ import annotations

import engine
from tui.screens.open_rows import Entry, application_entries, remote_entries

LISTED_APPLICATIONS = 200
LISTED_FILES = 1000

NEWEST = f"; the newest {LISTED_APPLICATIONS} are listed: #app=NAME behind the address opens others"
REMOTE = "://"


def listed(address: str) -> list[Entry]:
    if is_server(address):
        return application_entries(engine.list_applications(address, limit=LISTED_APPLICATIONS))
    return remote_entries(engine.list_remote(address, limit=LISTED_FILES))


def on_enter(address: str) -> str:
    if is_server(address):
        return "list its applications"
    return "list its files" if is_remote_folder(address) else "open it"


def is_remote_folder(address: str) -> bool:
    """Whether it is a folder in a store, to be listed; `^o` opens all of it."""
    return REMOTE in address and address.endswith("/") and not address.lower().startswith("http")


def is_server(address: str) -> bool:
    """Whether it is a history server itself: no application of it is named."""
    named = "#" in address or "/history/" in address
    return address.lower().startswith(("http://", "https://")) and not named
