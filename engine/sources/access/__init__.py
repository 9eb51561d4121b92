"""Where sources lie and how their bytes come: files, folders, archives, stores, servers."""
