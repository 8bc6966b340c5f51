"""Studies: policies on problems as data, their parts and folders, how they are run, and their charts and reports."""
