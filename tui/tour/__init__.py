"""The guided tour: steps as data, figures from the current answer, and a recorder."""
