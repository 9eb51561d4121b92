"""Access to the bytes of sources: files, folders, archives, object stores, history servers."""
