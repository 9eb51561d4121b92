"""The guided walkthrough: steps as data, figures from the live answer, and a recorder."""
