"""Studies: policies on problems, as data; run, kept, resumed, judged and drawn."""
