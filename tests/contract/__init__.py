"""Behaviour as data: what the product does, recorded once, for every rebuilding to be held against.

`records/*.jsonl` has a case and its recorded result on each line, and how the two must match. `adapter` has
all that calls the product, and translates names without arithmetic: when the product is renamed, it alone changes.
The `cases_*` modules list the cases, with every option spelt out. To record cases anew, after a change on purpose:

    PYTHONPATH=tests python -m contract.record "simulate uts*"

prints what changed. Commit such records alone, and say why.
"""
