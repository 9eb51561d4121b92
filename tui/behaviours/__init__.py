"""What the planner does with keys, dialogs and messages: parts of the app, one file a concern."""
